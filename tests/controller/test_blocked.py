"""`Blocked`: an object waits for another one, and is triggered by it; no requests are sent meanwhile."""

import pytest

from steersman.controller.triggers import Watch
from steersman.errors import Blocked
from steersman.kinds.core_v1 import ConfigMap, Namespace, Secret
from steersman.kinds.events_v1 import Event
from steersman.manager.operator import Operator
from steersman.objects.meta import meta
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from tests.controller.stage import OPTIONS, Ctx, clock_of, create, only, running
from tests.support.widgets import Widget


def waiting(*, how: str, recheck: float = 300.0) -> tuple[Operator, list[str]]:
    """Return an operator whose widgets need a Secret `tls` with a key, and the names of its runs.

    The Secret is watched, declared as one to wait for, or neither.
    """
    operator = Operator("waiting")
    runs: list[str] = []
    options = {"watches": [Watch(Secret, to=lambda _: [])]} if how == "watches" else {}
    if how == "waits_for":
        options = {"waits_for": [Secret]}
    if how == "neither":
        operator.permit(Secret, "get")

    @operator.reconciler(Widget, **options)  # type: ignore[arg-type] # one option or none
    async def reconcile(widget: Widget, ctx: Ctx) -> None:
        runs.append(widget.name)
        secret = await ctx.get(Secret, "tls")
        if secret is None:
            raise Blocked("SecretMissing", "there is no Secret tls", kind=Secret, name="tls", recheck=recheck)
        if "key" not in (secret.data or {}):
            raise Blocked("SecretIncomplete", "the Secret tls has no key", kind=Secret, name="tls", recheck=recheck)
        widget.status.size = widget.spec.size

    return operator, runs


@pytest.mark.parametrize("how", ["watches", "waits_for"])
async def test_the_object_runs_when_the_one_it_waits_for_appears_or_changes(how: str) -> None:
    """The wait is reported once, and the condition is removed by itself."""
    operator, runs = waiting(how=how)
    async with running(operator) as cluster:
        await create(cluster, size=3)
        ready = only(cluster).status.condition("Ready")
        assert ready is not None
        assert (ready.status, ready.reason, ready.observed_generation) == ("False", "SecretMissing", 1)
        assert ready.message == "there is no Secret tls (waiting for Secret default/tls)"
        assert [(event.type, event.reason) for event in cluster.list(Event)] == [("Warning", "SecretMissing")]
        assert only(cluster).status.observed_generation == 1
        cluster.faults.clear()
        await clock_of(cluster).advance(200.0)
        assert (runs, cluster.faults.writes()) == (["a"], [])

        secret = await cluster.client.create(Secret(meta("tls")))
        await cluster.settle()
        assert len(runs) == 2
        ready = only(cluster).status.condition("Ready")
        assert ready is not None
        assert ready.reason == "SecretIncomplete"

        await cluster.client.patch(secret, {"stringData": {"key": "value"}})
        await cluster.settle()
        assert only(cluster).status.size == 3
        assert only(cluster).status.condition("Ready") is None
        count = len(runs)
        await cluster.client.patch(secret, {"metadata": {"labels": {"x": "y"}}})
        await cluster.settle()
        assert len(runs) == count


async def test_only_the_one_object_is_watched_without_its_content() -> None:
    """A hundred objects that wait for it share the watch, which ends with the last of them."""
    operator, runs = waiting(how="waits_for")
    async with running(operator) as cluster:
        for name in ("a", "b", "c"):
            await create(cluster, name)
        watches = [request for request in cluster.faults.requests if "/secrets?" in request.target]
        assert watches
        for request in watches:
            assert "fieldSelector=metadata.name%3Dtls" in request.target
            assert "/namespaces/default/" in request.target
            assert "PartialObjectMetadata" in request.headers["accept"]
        assert len([stream for stream in cluster.faults.streams if "/secrets" in stream.target]) == 1
        await cluster.client.create(Secret(meta("other")))
        await cluster.settle()
        assert runs == ["a", "b", "c"]
        await cluster.client.create(Secret(meta("tls"), string_data={"key": "value"}))
        await cluster.settle()
        assert [widget.status.size for widget in cluster.list(Widget)] == [1, 1, 1]
        assert [stream for stream in cluster.faults.streams if "/secrets" in stream.target] == []


async def test_the_recheck_comes_even_if_no_event_triggers_the_object() -> None:
    """An unwatched kind is checked every half minute, a watched one after the recheck of the wait."""
    operator, runs = waiting(how="neither")
    async with running(operator) as cluster:
        await create(cluster)
        await cluster.client.create(Secret(meta("tls"), string_data={"key": "value"}))
        await clock_of(cluster).advance(29.0)
        assert len(runs) == 1
        await clock_of(cluster).advance(2.0)
        assert only(cluster).status.size == 1
    operator, runs = waiting(how="waits_for", recheck=100.0)
    async with running(operator) as cluster:
        await create(cluster)
        await clock_of(cluster).advance(350.0)
        assert len(runs) == 4
        assert len(cluster.list(Event)) == 1


@pytest.mark.parametrize("how", ["watches", "waits_for"])
async def test_an_object_that_appears_while_the_run_decides_to_wait_triggers_it(how: str) -> None:
    """The run saw nothing, and the wait begins after the change: without a second check it would wait forever."""
    operator = Operator("racing")
    runs = 0
    options = {"watches": [Watch(Secret, to=lambda _: [])]} if how == "watches" else {"waits_for": [Secret]}

    @operator.reconciler(Widget, **options)  # type: ignore[arg-type] # one option
    async def reconcile(widget: Widget, ctx: Ctx) -> None:
        nonlocal runs
        runs += 1
        if await ctx.get(Secret, "tls") is None:
            await cluster.client.create(Secret(meta("tls")))
            if how == "watches":
                # Until the cache has it, too: its event has passed when the wait begins.
                while await ctx.get(Secret, "tls") is None:
                    await ctx.client.try_get(Widget, "a")
            raise Blocked("SecretMissing", "there is no Secret tls", kind=Secret, name="tls")
        widget.status.size = 1

    async with running(operator) as cluster:
        await create(cluster)
        assert only(cluster).status.size == 1
        assert runs == 2


async def test_a_change_of_the_spec_or_a_deletion_ends_the_wait() -> None:
    """A blocked object is not left alone as after `Permanent`."""
    operator, runs = waiting(how="waits_for")
    async with running(operator) as cluster:
        widget = await create(cluster)
        await cluster.client.patch(widget, {"spec": {"size": 2}})
        await cluster.settle()
        assert len(runs) == 2
        await cluster.client.delete(widget)
        await cluster.settle()
        assert [stream for stream in cluster.faults.streams if "/secrets" in stream.target] == []


async def test_after_a_restart_the_condition_is_still_removed() -> None:
    """The process that set it is not the one that finds the Secret."""
    operator, _ = waiting(how="watches")
    restarted, _ = waiting(how="watches")
    async with Cluster.start(clock=FakeClock(), seed=1) as cluster:
        async with cluster.running(operator, options=OPTIONS):
            await create(cluster)
            assert only(cluster).status.condition("Ready") is not None
        await cluster.client.create(Secret(meta("tls"), string_data={"key": "value"}))
        async with cluster.running(restarted, options=OPTIONS):
            await cluster.settle()
            assert only(cluster).status.size == 1
            assert only(cluster).status.condition("Ready") is None


async def test_objects_of_other_namespaces_and_cluster_scoped_ones_can_be_waited_for() -> None:
    """The namespace is that of the object unless another is given; a cluster-scoped kind has none."""
    operator = Operator("elsewhere")

    @operator.reconciler(Widget, waits_for=[Namespace, ConfigMap])
    async def reconcile(widget: Widget, ctx: Ctx) -> None:
        if await ctx.get(Namespace, "team") is None:
            raise Blocked("NamespaceMissing", "no namespace", kind=Namespace, name="team")
        if await ctx.get(ConfigMap, "settings", "team") is None:
            raise Blocked("SettingsMissing", "no settings", kind=ConfigMap, name="settings", namespace="team")
        widget.status.size = 1

    async with running(operator) as cluster:
        await create(cluster)
        ready = only(cluster).status.condition("Ready")
        assert ready is not None
        assert ready.message == "no namespace (waiting for Namespace team)"
        await cluster.client.create(Namespace(meta("team")))
        await cluster.settle()
        ready = only(cluster).status.condition("Ready")
        assert ready is not None
        assert ready.message == "no settings (waiting for ConfigMap team/settings)"
        await cluster.client.create(ConfigMap(meta("settings", "team")))
        await cluster.settle()
        assert only(cluster).status.size == 1


def test_a_wait_needs_a_recheck() -> None:
    """The recheck protects against waiting forever for a change that was missed."""
    with pytest.raises(ValueError, match="recheck must be a positive number"):
        Blocked("X", "y", kind=Secret, name="a", recheck=0)
