"""What a running operator records about its reconciles, and what it never records."""

from base64 import b64encode
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from steersman import (
    Blocked,
    Context,
    Model,
    Operator,
    Permanent,
    Reference,
    Resource,
    Retry,
    Status,
    custom_resource,
    meta,
)
from steersman.history import redaction
from steersman.history.explanation import explain, sentence
from steersman.history.records import (
    CauseType,
    KeyPhase,
    KeyState,
    LeadershipChange,
    ObjectName,
    Result,
    Verb,
    WebhookCall,
)
from steersman.history.state import WebhookState
from steersman.kinds.apps_v1 import Deployment, DeploymentSpec
from steersman.kinds.core_v1 import ConfigMap, Container, PodSpec, PodTemplateSpec, Secret
from steersman.kinds.meta_v1 import LabelSelector
from steersman.manager.manager import Manager
from steersman.testing import Cluster

CANARY = "kanarienvogel-4711"


class PageSpec(Model):
    """The desired state of a page."""

    text: str = "hello"
    copies: int = 1


class PageStatus(Status):
    """The observed state of a page."""

    written: int = 0


@custom_resource("example.com/v1")
class Page(Resource[PageSpec, PageStatus]):
    """A text that is stored in ConfigMaps."""


def page_operator() -> Operator:
    """Return the operator of the tests."""
    operator = Operator("pages")

    @operator.reconciler(Page, owns=[ConfigMap], watches=[], waits_for=[Secret])
    async def reconcile(page: Page, ctx: Context[Page]) -> None:
        if page.spec.text == "fail":
            raise KeyError(CANARY)
        if page.spec.text == "give up":
            raise Permanent("Hopeless", "nothing helps")
        secret = await ctx.get(Secret, "seal")
        if secret is None and page.spec.text == "wait":
            raise Blocked("NoSeal", "there is no seal", kind=Secret, name="seal")
        seal = (secret.data or {}).get("key", b"").decode() if secret is not None else ""
        for number in range(page.spec.copies):
            data = {"text": page.spec.text, "seal": seal}
            await ctx.apply(ConfigMap(meta(f"{page.name}-{number}"), data=data))
        await ctx.prune(ConfigMap)
        page.status.written = page.spec.copies
        ctx.condition("Ready", status=True, reason="Written", message=f"{page.spec.copies} copies")
        ctx.event("Written", f"sealed with {seal}")

    return operator


def view(manager: Manager, name: str) -> Any:
    """Return what is known about a page."""
    return manager.introspection.view(ObjectName("Page", "default", name))


async def test_a_reconcile_is_recorded_with_its_causes_reads_and_writes(cluster: Cluster) -> None:
    """A user must be able to find out later, without a debugger, why an object is in its state."""
    async with cluster.running(page_operator()) as manager:
        page = await cluster.client.create(Page(meta("a", namespace="default"), PageSpec(copies=2)))
        await cluster.settle()
        await cluster.client.patch(page, {"spec": {"copies": 1, "text": "bye"}})
        await cluster.settle()
        seen = view(manager, "a")
    first, *_, last = [one for one in seen.reconciles if one.writes]
    assert first.causes[0].type is CauseType.CREATED
    assert [str(one.object) for one in first.reads if one.object] == ["Secret default/seal"]
    assert [(one.verb, one.object.name) for one in first.writes] == [
        (Verb.CREATED, "a-0"),
        (Verb.CREATED, "a-1"),
        (Verb.STATUS, "a"),
    ]
    assert [str(change) for change in last.causes[0].changes] == ["spec.text hello → bye", "spec.copies 2 → 1"]
    assert [(one.verb, one.object.name, [str(change) for change in one.changes]) for one in last.writes[:2]] == [
        (Verb.CHANGED, "a-0", ["data.text hello → bye"]),
        (Verb.DELETED, "a-1", []),
    ]
    assert [str(one) for one in last.conditions] == ["Ready=True (Written)"]
    assert sentence(seen) == "Page default/a is ready: 1 copies."
    assert seen.state.phase is KeyPhase.IDLE


async def test_failures_and_waits_are_shown_with_what_comes_next(cluster: Cluster) -> None:
    """Users ask about the object that does not become ready."""
    async with cluster.running(page_operator(), expect_failures=KeyError) as manager:
        for name, text in (("bad", "fail"), ("hopeless", "give up"), ("waiting", "wait")):
            await cluster.client.create(Page(meta(name, namespace="default"), PageSpec(text=text)))
        await cluster.eventually(lambda: len(view(manager, "bad").reconciles) > 2)
        await cluster.eventually(lambda: view(manager, "waiting").state.phase is KeyPhase.WAITING)
        bad, hopeless, waiting = (view(manager, name) for name in ("bad", "hopeless", "waiting"))
        now = cluster.clock.now()
        failing = {one.object.name: one.failures for one in manager.introspection.summaries()}
    assert bad.reconciles[-1].result is Result.FAILED
    assert bad.reconciles[-1].failures_before >= 2
    assert failing["bad"] >= 3
    assert (hopeless.reconciles[-1].result, hopeless.state.phase) == (Result.GAVE_UP, KeyPhase.GAVE_UP)
    assert waiting.reconciles[-1].next.waits_for == ObjectName("Secret", "default", "seal")
    assert explain(waiting, now)[1].startswith("Next run: when Secret seal appears, or at ")


async def test_the_next_run_names_the_missing_object_of_a_reference(cluster: Cluster) -> None:
    """A reconciler that only reports the missing Secret has no timer: its user must know what it is waiting for."""
    operator = Operator("pages")

    @operator.reconciler(Page, watches=[Reference(Secret, by=lambda page: [page.spec.text, "common"])])
    async def reconcile(page: Page, ctx: Context[Page]) -> None:
        ctx.condition("Ready", await ctx.get(Secret, page.spec.text) is not None, "Looked")

    async with cluster.running(operator) as manager:
        await cluster.client.create(Secret(meta("common", namespace="default")))
        await cluster.client.create(Page(meta("a", namespace="default"), PageSpec(text="tls")))
        await cluster.settle()
        before = explain(view(manager, "a"), cluster.clock.now())
        await cluster.client.create(Secret(meta("tls", namespace="default")))
        await cluster.settle()
        after = explain(view(manager, "a"), cluster.clock.now())
    assert before[1] == "Next run: when Secret tls appears, or when it or an object that it owns changes."
    assert after[1] == "Next run: when it or an object that it owns changes."


async def test_a_cache_of_some_objects_does_not_prove_that_another_is_missing(cluster: Cluster) -> None:
    """The Secret exists without the label: that it appears will never happen."""
    operator = Operator("pages")
    some = Reference(Secret, by=lambda page: page.spec.text, selector="example.com/tls")

    @operator.reconciler(Page, watches=[some])
    async def reconcile(_: Page, __: Context[Page]) -> None:
        pass

    async with cluster.running(operator) as manager:
        await cluster.client.create(Secret(meta("tls", namespace="default")))
        await cluster.client.create(Page(meta("a", namespace="default"), PageSpec(text="tls")))
        await cluster.settle()
        shown = view(manager, "a")
    assert shown.state.missing == ()


async def test_contents_of_secrets_are_recorded_nowhere(cluster: Cluster) -> None:
    """A record is shown and exported without further checks: it must not contain the canary in any form."""
    async with cluster.running(page_operator()) as manager:
        await cluster.client.create(Secret(meta("seal", namespace="default"), data={"key": CANARY.encode()}))
        page = await cluster.client.create(Page(meta("a", namespace="default")))
        await cluster.settle()
        await cluster.client.patch(page, {"spec": {"text": "bye"}})
        await cluster.settle()
        runs = manager.history.newest(1000)
        overview = manager.introspection.overview()
    assert [one for one in runs if one.events and "<secret>" in one.events[0].message]
    assert CANARY not in repr(runs)
    assert CANARY not in repr(overview)


@pytest.mark.parametrize(
    "canary", ["long-" + "kanarienvogel" * 9, "two  lines\n  of kanarienvogel", "kanarienvogel " * 40]
)
async def test_a_secret_is_masked_even_where_a_text_is_cut_or_folded(cluster: Cluster, canary: str) -> None:
    """A shown value is short and on one line: the rest of a secret no longer looks like the secret."""
    operator = Operator("pages")

    @operator.reconciler(Page, owns=[ConfigMap], waits_for=[Secret])
    async def reconcile(page: Page, ctx: Context[Page]) -> None:
        secret = await ctx.get(Secret, "seal")
        seal = (secret.data or {}).get("key", b"").decode() if secret is not None else ""
        await ctx.apply(ConfigMap(meta(page.name), data={"text": page.spec.text and f"{page.spec.text}: {seal}"}))
        if page.spec.copies > 1:
            raise Retry(f"again with {seal}", after=60)

    async with cluster.running(operator) as manager:
        await cluster.client.create(Secret(meta("seal", namespace="default"), data={"key": canary.encode()}))
        page = await cluster.client.create(Page(meta("a", namespace="default")))
        await cluster.settle()
        await cluster.client.patch(page, {"spec": {"text": "bye", "copies": 2}})
        await cluster.settle()
        await cluster.client.patch(page, {"spec": {"text": canary}})
        await cluster.settle()
        runs = manager.history.newest(1000)
    assert [one for one in runs for write in one.writes for change in write.changes if change.path == "data.text"]
    assert "kanarien" not in repr(runs)


@pytest.mark.parametrize("place", ["text", "name", "condition", "base64"])
async def test_a_later_run_that_does_not_read_the_secret_does_not_show_it(cluster: Cluster, place: str) -> None:
    """What one run has copied out of a Secret is the old value in the difference of the next."""
    operator = Operator("pages")
    operator.permit(Secret, "get")

    @operator.reconciler(Page, owns=[ConfigMap])
    async def reconcile(page: Page, ctx: Context[Page]) -> None:
        seal = "nothing"
        if page.spec.copies == 1:
            secret = await ctx.get(Secret, "seal")
            seal = (secret.data or {})["key"].decode() if secret is not None else ""
        shown = b64encode(f"user:{seal}".encode()).decode() if place == "base64" else f"sealed with {seal}"
        await ctx.apply(ConfigMap(meta(seal if place == "name" else page.name), data={"text": shown}))
        await ctx.prune(ConfigMap)
        ctx.condition(f"Sealed-{seal}" if place == "condition" else "Ready", status=True, reason="Written")
        if page.spec.copies == 2:
            page.status.conditions = [one for one in page.status.conditions if CANARY not in one.type]

    async with cluster.running(operator) as manager:
        await cluster.client.create(Secret(meta("seal", namespace="default"), data={"key": CANARY.encode()}))
        page = await cluster.client.create(Page(meta("a", namespace="default")))
        await cluster.settle()
        await cluster.client.patch(page, {"spec": {"copies": 2}})
        await cluster.settle()
        runs = manager.history.newest(1000)
    assert "<secret>" in repr(runs)
    assert CANARY not in repr(runs)
    assert b64encode(f"user:{CANARY}".encode()).decode() not in repr(runs)


@custom_resource("other.example.com/v1", kind="Page")
class OtherPage(Resource[PageSpec, PageStatus]):
    """A kind of the same name in another group."""


async def test_equal_kinds_of_two_groups_do_not_mix(cluster: Cluster) -> None:
    """One operator for the ``Cluster`` of two vendors: why one of them failed is not about the other."""
    operator = Operator("pages")
    for kind in (Page, OtherPage):

        @operator.reconciler(kind)
        async def reconcile(page: Any, ctx: Context[Any]) -> None:
            ctx.event("Ran", type(page).__name__)

    async with cluster.running(operator) as manager:
        await cluster.client.create(Page(meta("a", namespace="default")))
        await cluster.client.create(OtherPage(meta("a", namespace="default")))
        await cluster.settle()
        views = [
            manager.introspection.view(ObjectName("Page", "default", "a", group))
            for group in ("example.com", "other.example.com")
        ]
    assert [{event.message for run in view.reconciles for event in run.events} for view in views] == [
        {"Page"},
        {"OtherPage"},
    ]


@pytest.mark.parametrize(
    "mischief",
    [
        lambda ctx: ctx.requeue_after(1e12),
        lambda ctx: ctx.event("Odd", "bad \udcff"),
        lambda ctx: ctx.event("Odd", None),
        lambda ctx: ctx.event("Odd", object()),
    ],
    ids=["a wait beyond the calendar", "a text that cannot be encoded", "no text", "an object"],
)
async def test_the_history_never_repeats_a_run(cluster: Cluster, mischief: Callable[[Any], None]) -> None:
    """A successful run is over: when its record failed, the run was repeated a hundred times a second."""
    operator, runs = Operator("pages"), list[str]()

    @operator.reconciler(Page)
    async def reconcile(page: Page, ctx: Context[Page]) -> None:
        runs.append(page.name)
        mischief(ctx)

    async with cluster.running(operator) as manager:
        await cluster.client.create(Page(meta("a", namespace="default")))
        await cluster.eventually(lambda: view(manager, "a").reconciles)
        seen = view(manager, "a")
        manager.introspection.summaries()
    assert len(runs) <= 2  # the status with the observed generation may cause another run
    assert len(seen.reconciles) == len(runs)


class OddStatus(Model):
    """A status whose ``conditions`` are not Kubernetes conditions."""

    conditions: int = 0


@custom_resource("example.com/v1")
class Odd(Resource[PageSpec, OddStatus]):
    """A kind with such a status."""


async def test_conditions_of_another_shape_do_not_fail_a_run(cluster: Cluster) -> None:
    """The history must never fail a run, whatever an author declares as status."""
    operator = Operator("odds")

    @operator.reconciler(Odd)
    async def reconcile(odd: Odd, ctx: Context[Odd]) -> None:
        del ctx
        odd.status.conditions = 5

    async with cluster.running(operator) as manager:
        await cluster.client.create(Odd(meta("a", namespace="default")))
        await cluster.settle()
        seen = manager.introspection.view(ObjectName("Odd", "default", "a"))
    assert Verb.STATUS in {write.verb for one in seen.reconciles for write in one.writes}
    assert seen.exists


async def test_the_overview_counts_objects_runs_and_caches(cluster: Cluster) -> None:
    """It shows which cache grows, and which queue does not move."""
    async with cluster.running(page_operator()) as manager:
        await cluster.client.create(Page(meta("a", namespace="default")))
        await cluster.settle()
        overview = manager.introspection.overview()
        tree = manager.introspection.tree(ObjectName("Page", "default", "a"))
    [controller] = overview.controllers
    assert (controller.kind, controller.plural, controller.failing, controller.failures) == ("Page", "pages", 0, 0)
    assert controller.runs >= 1
    sizes = {cache.kind: (cache.objects, cache.bytes > 0, cache.is_synced) for cache in overview.caches}
    assert sizes["Page"] == (1, True, True)
    assert tree is not None
    assert [str(child.object) for child in tree.children] == ["ConfigMap default/a-0"]
    assert manager.introspection.tree(ObjectName("Page", "default", "b")) is None


@pytest.mark.parametrize("kind", ["Page", "ConfigMap", "Nothing"])
async def test_a_request_for_a_missing_object_is_answered(cluster: Cluster, kind: str) -> None:
    """A typing error is not a failure of the operator."""
    async with cluster.running(page_operator()) as manager:
        seen = manager.introspection.view(ObjectName(kind, "default", "b"))
    assert not seen.exists
    assert seen.reconciles == ()


async def test_a_record_is_made_before_its_secrets_are_forgotten(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records are made when they are read, and only so many values of Secrets are remembered until then."""
    monkeypatch.setattr(redaction, "_VALUES", 3)
    operator = Operator("pages")
    operator.permit(Secret, "get")

    @operator.reconciler(Page, owns=[ConfigMap])
    async def reconcile(page: Page, ctx: Context[Page]) -> None:
        if page.name == "reads":
            await ctx.get(Secret, page.spec.text)
        else:
            await ctx.apply(ConfigMap(meta(page.name), data={"text": f"{CANARY}, {page.spec.copies}"}))

    async with cluster.running(operator) as manager:
        for number, value in enumerate((CANARY, *(f"another-value-{one}" for one in range(9)))):
            await cluster.client.create(Secret(meta(f"s-{number}", namespace="default"), data={"key": value.encode()}))
        reads = await cluster.client.create(Page(meta("reads", namespace="default"), PageSpec(text="s-0")))
        await cluster.settle()
        quotes = await cluster.client.create(Page(meta("quotes", namespace="default")))
        await cluster.settle()
        await cluster.client.patch(quotes, {"spec": {"copies": 2}})
        await cluster.settle()
        for number in range(1, 10):
            await cluster.client.patch(reads, {"spec": {"text": f"s-{number}"}})
            await cluster.settle()
        runs = view(manager, "quotes").reconciles
    [change] = [
        change for one in runs for write in one.writes for change in write.changes if change.path == "data.text"
    ]
    assert (change.before, change.after) == ("<secret>, 1", "<secret>, 2")


async def test_reviews_and_leadership_are_part_of_what_is_known_of_an_object(cluster: Cluster) -> None:
    """They explain a change that did not happen, and a time without runs."""
    async with cluster.running(page_operator()) as manager:
        await cluster.client.create(Page(meta("a", namespace="default")))
        await cluster.settle()
        began = view(manager, "a").reconciles[0].started
        for number, at in ((1, -3), (2, -2), (3, 2)):
            change = LeadershipChange(at=began + timedelta(seconds=at), is_leader=number != 2, lease="n/pages")
            manager.history.add_leadership(change)
        for name, is_allowed in (("a", True), ("other", True), ("rejected", False)):
            about = ObjectName("Page", "default", name, "example.com")
            review = WebhookCall(
                webhook="/validate", started=began, seconds=0.5, status=200, object=about, is_allowed=is_allowed
            )
            manager.history.add_call(review)
        manager.history.add_call(WebhookCall(webhook="/validate", started=began, seconds=2.0, status=499))
        known, rejected = view(manager, "a"), view(manager, "rejected")
        assert [one.object.name for one in known.reviews if one.object is not None] == ["a"]
        assert [(one.at - began).total_seconds() for one in known.leadership] == [-2, 2]
        assert (rejected.exists, len(rejected.reviews)) == (False, 1)
        [webhook] = manager.introspection.overview().webhooks
    assert webhook == WebhookState(webhook="/validate", reviews=4, denied=1, failed=1, slowest=2.0, last=began)


async def test_the_timer_of_a_wait_or_a_pause_ends_with_it(cluster: Cluster) -> None:
    """What is shown as the next run must happen, and must have a reason."""
    async with cluster.running(page_operator()) as manager:
        page = await cluster.client.create(Page(meta("a", namespace="default"), PageSpec(text="wait")))
        await cluster.settle()
        assert view(manager, "a").state.until is not None
        await cluster.client.create(Secret(meta("seal", namespace="default"), data={"key": b"12345678"}))
        await cluster.settle()
        assert view(manager, "a").state == KeyState()
        for value, phase in (("2046-01-01T00:00:00Z", KeyPhase.PAUSED), (None, KeyPhase.IDLE)):
            await cluster.client.patch(page, {"metadata": {"annotations": {"steersman.dev/paused": value}}})
            await cluster.settle()
            state = view(manager, "a").state
            assert (state.phase, state.until is not None) == (phase, value is not None)
            if state.until is not None:
                assert state.until.year == 2046


async def test_what_another_controller_wrote_meanwhile_is_not_credited_to_the_run(cluster: Cluster) -> None:
    """A write shows the fields that it has changed; the status of a Deployment is that of its own controller."""
    operator = Operator("pages")
    labels, main = {"app": "a"}, Container(name="main", image="a")

    @operator.reconciler(Page, owns=[Deployment])
    async def reconcile(page: Page, ctx: Context[Page]) -> None:
        desired = Deployment(
            meta(page.name),
            spec=DeploymentSpec(
                replicas=page.spec.copies,
                selector=LabelSelector(match_labels=labels),
                template=PodTemplateSpec(metadata=meta("", labels=labels), spec=PodSpec(containers=[main])),
            ),
        )
        if page.spec.copies == 2:
            status = {"status": {"replicas": 1, "observedGeneration": 1}}
            await cluster.client.status.patch(await cluster.client.get(Deployment, page.name, "default"), status)
        await ctx.apply(desired)

    async with cluster.running(operator) as manager:
        page = await cluster.client.create(Page(meta("a", namespace="default")))
        await cluster.settle()
        await cluster.client.patch(page, {"spec": {"copies": 2}})
        await cluster.settle()
        runs = view(manager, "a").reconciles
    changed = [
        change.path for run in runs for write in run.writes for change in write.changes if write.verb == "changed"
    ]
    assert changed == ["spec.replicas"]
