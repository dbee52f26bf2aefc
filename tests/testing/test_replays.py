"""A recorded reconcile is run again: on the same code it sends the same, on other code the differences are named."""

from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from steersman import Context, Model, Operator, Permanent, Resource, Status, custom_resource, meta
from steersman.errors import AlreadyExists, ConfigError, DecodeError, Invalid
from steersman.history.recordings import LARGEST, Recording, Recordings, export, load_recordings, most_telling
from steersman.history.records import ObjectName, Result
from steersman.kinds.core_v1 import ConfigMap, Container, Pod, PodSpec, Secret
from steersman.manager.manager import Manager, ManagerOptions
from steersman.testing import Cluster, FakeClock, Refuse, replay_reconcile

CANARY = "correct-horse-battery-staple"


class PlaceSpec(Model):
    """How many parts, and what is in them."""

    parts: int = 1
    text: str = "a"
    api_token: str = ""


class PlaceStatus(Status):
    """How many parts there are."""

    parts: int = 0


@custom_resource("replays.example.com/v1")
class Place(Resource[PlaceSpec, PlaceStatus]):
    """A place with parts."""


NAME = ObjectName("Place", "default", "a", "replays.example.com")
Reconcile = Callable[[Place, Context[Place]], Any]


def operator_of(function: Reconcile, *, cleanup: Reconcile | None = None) -> Operator:
    """Make an operator of a function."""
    operator = Operator("places")
    operator.permit(Secret, "get")
    operator.permit(ConfigMap, "get", "delete")
    reconciler = operator.reconciler(Place, owns=[ConfigMap, Pod])(function)
    if cleanup is not None:
        reconciler.cleanup(cleanup)
    return operator


async def stock(place: Place, ctx: Context[Place]) -> None:
    """Write each part, remove the others, report."""
    secret = await ctx.get(Secret, "login")
    for number in range(place.spec.parts):
        data = {"text": place.spec.text, "login": "" if secret is None else secret.data["password"].decode()}
        await ctx.apply(ConfigMap(meta(f"{place.name}-{number}"), data=data))
    await ctx.prune(ConfigMap)
    place.status.parts = place.spec.parts
    ctx.condition("Ready", True, "Stocked", f"{place.spec.parts} parts")  # noqa: FBT003 - reads as the condition it is
    ctx.event("Stocked", f"{place.spec.parts} parts are there")


@asynccontextmanager
async def recording(operator: Operator, **options: Any) -> AsyncIterator[tuple[Cluster, Manager]]:
    """Run an operator that records what its reconciles read."""
    async with Cluster.start(clock=FakeClock()) as cluster:
        await cluster.client.create(
            Secret(meta("login", namespace="default"), string_data={"password": CANARY, "user": "copies"})
        )
        async with cluster.running(
            operator, options=ManagerOptions(record={"places": "places.main:operator"}), **options
        ) as manager:
            yield cluster, manager


def recorded(manager: Manager) -> list[Recording]:
    """Return the recordings of the object."""
    found = manager.introspection.recordings(NAME)
    assert found is not None
    return found


async def history_of(function: Reconcile, *texts: str, **fields: Any) -> list[Recording]:
    """Create an object, change it once for each text, and return its recordings."""
    async with recording(operator_of(function)) as (cluster, manager):
        place = await cluster.client.create(Place(meta("a", namespace="default"), PlaceSpec(parts=2, **fields)))
        await cluster.settle()
        for text in texts:
            place = await cluster.client.patch(place, {"spec": {"text": text}})
            await cluster.settle()
        return recorded(manager)


async def test_every_run_sends_the_same_when_it_is_run_again() -> None:
    """Created, changed and quiet runs: each is rebuilt from what it read alone."""
    runs = await history_of(stock, "b")
    assert len(runs) >= 3
    assert [len(one.writes) for one in runs][:1] == [3]
    for one in runs:
        again = await replay_reconcile(operator_of(stock), one)
        assert again.differences == (), one.title
        assert again.replayed.result is Result.DONE


@pytest.mark.parametrize("token", ["", "absent-login"])
async def test_a_field_that_names_no_object_or_a_missing_one_is_replayed_as_it_was(token: str) -> None:
    """``apiToken`` is named like a password; a mask in its place would be the name of another object, or not empty."""

    async def reconcile(place: Place, ctx: Context[Place]) -> None:
        named = place.spec.api_token
        found = bool(named) and await ctx.get(Secret, named)
        ctx.condition("Ready", not named, "Looked", f"{found} {len(named)}")

    async with recording(operator_of(reconcile)) as (cluster, manager):
        await cluster.client.create(Place(meta("a", namespace="default"), PlaceSpec(api_token=token)))
        await cluster.settle()
        first = recorded(manager)[0]
    assert (await replay_reconcile(operator_of(reconcile), first)).differences == ()


async def test_what_other_code_sends_is_named_field_by_field() -> None:
    """A review of a refactoring: which writes of real reconciles would be different."""

    async def other(place: Place, ctx: Context[Place]) -> None:
        await ctx.apply(ConfigMap(meta(f"{place.name}-0"), data={"text": place.spec.text.upper(), "login": "x"}))
        place.status.parts = 1
        ctx.condition("Ready", True, "Stocked", "2 parts")  # noqa: FBT003 - the same

    first = (await history_of(stock))[0]
    found = (await replay_reconcile(operator_of(other), first)).differences
    assert found == (
        "apply configmaps default/a-0: data.text a → A",
        "apply configmaps default/a-0: data.login <secret> → x",
        "not sent any more: apply configmaps default/a-1",
        "patch places default/a/status: status.parts 2 → 1",
        "event not recorded any more: Normal Stocked: 2 parts are there",
    )


async def test_a_run_that_fails_or_stops_failing_is_named() -> None:
    """The reason to save a test is most often a failure."""

    async def broken(place: Place, ctx: Context[Place]) -> None:
        del ctx
        raise KeyError(place.name)

    first = (await history_of(stock))[0]
    found = (await replay_reconcile(operator_of(broken), first)).differences
    assert found[0] == "ended: done → failed (KeyError: 'a')"
    async with recording(operator_of(broken), expect_failures=(KeyError,)) as (cluster, manager):
        await cluster.client.create(Place(meta("a", namespace="default")))
        await cluster.settle()
        failed = recorded(manager)[0]
    assert (await replay_reconcile(operator_of(broken), failed)).differences == ()
    assert (await replay_reconcile(operator_of(stock), failed)).differences[0] == "ended: failed (KeyError: 'a') → done"


async def test_a_request_that_was_rejected_is_rejected_again() -> None:
    """Why the server rejected it may be something that the reconcile has not read."""
    async with recording(operator_of(stock)) as (cluster, manager):
        cluster.faults.inject(Refuse(422, "Invalid", "a quota is used up"), method="PATCH", path="configmaps")
        await cluster.client.create(Place(meta("a", namespace="default")))
        await cluster.settle()
        first = recorded(manager)[0]
    assert first.result is Result.FAILED
    again = await replay_reconcile(operator_of(stock), first)
    assert again.differences == ()
    assert "a quota is used up" in again.replayed.message


async def test_names_that_the_server_makes_are_no_difference() -> None:
    """Each server makes another one."""

    async def scale(place: Place, ctx: Context[Place]) -> None:
        if not ctx.owned(Pod):
            metadata = meta("")
            metadata.generate_name = f"{place.name}-"
            pod = await ctx.create(Pod(metadata, spec=PodSpec(containers=[Container(name="main", image="app")])))
            ctx.event("Created", f"created {pod.name}")

    for one in await history_of(scale):
        assert (await replay_reconcile(operator_of(scale), one)).differences == ()


async def test_a_cleanup_is_run_again_as_a_cleanup() -> None:
    """With the finalizer and the time of the deletion."""
    cleaned: list[str] = []

    async def clean(place: Place, ctx: Context[Place]) -> None:
        cleaned.append(place.name)
        found = await ctx.client.try_get(ConfigMap, "a-0", "default")
        if found is not None:
            await ctx.client.delete(found)

    async with recording(operator_of(stock, cleanup=clean)) as (cluster, manager):
        place = await cluster.client.create(Place(meta("a", namespace="default")))
        await cluster.settle()
        await cluster.client.delete(place)
        await cluster.settle()
        last = recorded(manager)[-1]
    assert any(one.verb == "delete" for one in last.writes)
    cleaned.clear()
    assert (await replay_reconcile(operator_of(stock, cleanup=clean), last)).differences == ()
    assert cleaned == ["a"]


async def test_no_secret_is_in_a_recording() -> None:
    """It is exported and committed: neither the Secret, nor copies of it, nor fields with such names are in it."""
    runs = await history_of(stock, "b", api_token="hush-hush-hush")
    text = export(runs).decode()
    for secret in (CANARY, b64encode(CANARY.encode()).decode(), "hush-hush-hush"):
        assert secret not in text
    document = next(one for one in runs[0].reads if one["kind"] == "Secret")
    assert set(document["data"]) == {"password", "user"}
    assert document["metadata"]["name"] == "login"


FORMS = (CANARY, b64encode(CANARY.encode()).decode(), CANARY.encode().hex())


@pytest.mark.parametrize("how", ["client", "list", "context"])
async def test_no_way_of_reading_a_secret_leaves_it_in_a_recording(how: str) -> None:
    """Not read by name, in a list or past the context; not where it is copied to, quoted, or sent and rejected."""

    async def leak(place: Place, ctx: Context[Place]) -> None:
        if how == "client":
            found = await ctx.client.get(Secret, "login", "default")
        elif how == "list":
            everything = [one async for one in ctx.client.list(Secret, namespace="default")]
            found = next(one for one in everything if one.name == "login")
        else:
            found = await ctx.get(Secret, "login") or Secret(meta("none"))
        secret = (found.data or {})["password"].decode()
        coded = b64encode(secret.encode()).decode()
        copies = ConfigMap(meta("copies", namespace="default"), data={"config": f"login={secret}", "coded": coded})
        await ctx.apply(copies, adopt=True)
        await ctx.client.patch(copies, {"metadata": {"annotations": {f"example.com/{secret}": secret}}})
        ctx.event("Leaked", f"the password is {secret}")
        await ctx.client.create(Secret(meta(f"{place.name}-made", namespace="default"), string_data={"other": secret}))
        await ctx.client.patch(found, {"metadata": {"labels": {"not a label": secret}}})

    operator = operator_of(leak)
    operator.permit(Secret, "get", "list", "create", "patch")
    operator.permit(ConfigMap, "patch")
    async with recording(operator, expect_failures=(Invalid, AlreadyExists)) as (cluster, manager):
        await cluster.client.create(ConfigMap(meta("copies", namespace="default"), data={"config": f"login={CANARY}"}))
        await cluster.client.create(Place(meta("a", namespace="default")))
        await cluster.settle()
        first = recorded(manager)[0]
    assert len(first.writes) == 4, first.writes
    text = export([first]).decode()
    assert [form for form in FORMS if form in text] == []
    assert (await replay_reconcile(operator, first)).differences == ()


async def test_a_written_secret_is_compared_by_its_keys_only() -> None:
    """Its values are not kept."""

    async def write(place: Place, ctx: Context[Place]) -> None:
        await ctx.apply(Secret(meta(place.name), string_data={"made": CANARY}))

    async def rewrite(place: Place, ctx: Context[Place]) -> None:
        await ctx.apply(Secret(meta(place.name), string_data={"other": "another-value"}))

    operator = Operator("places")
    operator.reconciler(Place, owns=[Secret])(write)
    async with recording(operator) as (cluster, manager):
        place = await cluster.client.create(Place(meta("a", namespace="default")))
        await cluster.settle()
        await cluster.client.patch(place, {"spec": {"text": "b"}})
        await cluster.settle()
        first, *others = recorded(manager)
    assert CANARY not in export([first, *others]).decode()
    for one in (first, *others):
        assert (await replay_reconcile(operator, one)).differences == (), one.title
    other = Operator("places")
    other.reconciler(Place, owns=[Secret])(rewrite)
    assert len((await replay_reconcile(other, first)).differences) == 2


async def test_other_systems_are_not_called() -> None:
    """A replay in CI must not create a database."""
    called: list[str] = []

    async def reconcile(place: Place, ctx: Context[Place]) -> None:
        async def create() -> None:
            called.append(place.name)

        await ctx.external_write("postgres", "create role", create)

    first = (await history_of(reconcile))[0]
    assert first.external_systems == ("postgres",)
    called.clear()
    found = (await replay_reconcile(operator_of(reconcile), first)).differences
    assert "is not carried out in a replay: pass carry_out=" in found[0]
    assert called == []

    async def carry_out(write: str, work: Callable[[], Any]) -> Any:
        del write
        return await work()

    assert (await replay_reconcile(operator_of(reconcile), first, carry_out=carry_out)).differences == ()
    assert called == ["a"]


async def test_a_service_is_called_only_if_the_test_stands_for_it() -> None:
    """The same for HTTP."""

    async def reconcile(place: Place, ctx: Context[Place]) -> None:
        del place
        await ctx.http("https://dns.example.com").get("/")

    first = replace((await history_of(stock))[0], writes=(), events=())
    found = (await replay_reconcile(operator_of(reconcile), first)).differences
    assert "https://dns.example.com is not called in a replay" in found[0]


async def test_a_mistake_is_one_sentence() -> None:
    """Most of them are a wrong file or a wrong operator."""
    first = (await history_of(stock))[0]
    with pytest.raises(ConfigError, match="the operator 'other' has no reconciler for Place"):
        await replay_reconcile(Operator("other"), first)
    with pytest.raises(ConfigError, match="does not contain the object itself"):
        await replay_reconcile(operator_of(stock), replace(first, reads=()))
    (own,) = (one for one in first.reads if one["kind"] == "Place")
    with pytest.raises(ConfigError, match=r"Place default/a: the object does not decode: .*spec.parts"):
        await replay_reconcile(operator_of(stock), replace(first, reads=({**own, "spec": {"parts": "many"}},)))
    with pytest.raises(ConfigError, match="a recording of one reconcile is needed, not of 2"):
        await replay_reconcile(operator_of(stock), export([first, first]))
    with pytest.raises(DecodeError, match=r"x\.json is not an export of `steer why --export`"):
        load_recordings(b"{}", source="x.json")
    with pytest.raises(DecodeError, match="has the format 'v0'"):
        load_recordings(b'{"format": "v0", "reconciles": []}', source="x.json")
    assert load_recordings(export([first]), source="x.json") == (first,)


async def test_nothing_is_recorded_unless_it_was_asked_for() -> None:
    """Recordings hold whole objects: more memory, and more to protect."""
    async with Cluster.start(clock=FakeClock()) as cluster, cluster.running(operator_of(stock)) as manager:
        await cluster.client.create(Place(meta("a", namespace="default")))
        await cluster.settle()
        assert manager.introspection.recordings(NAME) is None


def _one(number: int, *, name: str = "a", size: int = 10, result: Result = Result.DONE) -> Recording:
    started = FakeClock().now()
    return Recording(
        object=NAME._replace(name=name),
        controller="place",
        number=number,
        started=started,
        reads=({"text": "x" * size},),
        result=result,
    )


def test_recordings_are_bounded_for_each_object_and_in_bytes() -> None:
    """A busy object does not push out the others, and memory has an end."""
    kept = Recordings(per_object=2, most_bytes=5_000)
    for number in range(5):
        kept.add(_one(number))
    assert [one.number for one in kept.of(NAME)] == [3, 4]
    kept.add(_one(9, name="large", size=4_800))
    assert kept.of(NAME) == []
    assert kept.bytes <= 5_000
    kept.add(_one(10, name="too-large", size=LARGEST))
    assert [one.number for one in kept.of(NAME._replace(name="large"))] == [9]
    assert len(kept) == 1


def test_the_most_telling_run_failed_or_changed_something() -> None:
    """The last run of an object is most often one that had nothing to do."""
    assert most_telling([]) is None
    assert most_telling([_one(1), _one(2)]) == _one(2)
    assert most_telling([_one(1, result=Result.FAILED), _one(2)]) == _one(1, result=Result.FAILED)


async def test_a_permanent_failure_ends_the_same() -> None:
    """With its condition and its event."""

    async def give_up(place: Place, ctx: Context[Place]) -> None:
        del ctx
        raise Permanent("Broken", f"{place.name} is broken")

    first = (await history_of(give_up))[0]
    assert first.result is Result.GAVE_UP
    assert (await replay_reconcile(operator_of(give_up), first)).differences == ()
