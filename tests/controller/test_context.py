import inspect

from steersman.controller.context import Context
from steersman.kinds.core_v1 import Container, Pod, PodSpec
from steersman.manager.operator import Operator
from steersman.objects.meta import meta
from tests.controller.stage import Ctx, clock_of, running
from tests.support.widgets import Widget, WidgetSpec

#: The names that authors use; docs/first-operator.md and related guides show most of them.
PUBLIC = {
    *("why", "log", "client", "now", "cluster"),
    *("get", "get_metadata", "list", "list_metadata", "owned", "owned_metadata", "orphans"),
    *("apply", "create", "update", "patch", "delete", "prune"),
    *("condition", "event", "ready", "requeue_after", "waker", "memory"),
    *("follow", "http", "external_write", "external_writer", "wait"),
}

MAIN = Container(name="main", image="none")


def test_the_context_shows_no_internals() -> None:
    """Authors use what completion offers: each name here is a promise, so a new one is added on purpose."""
    assert {name for name in dir(Context) if not name.startswith("_")} == PUBLIC


def test_every_public_member_of_the_context_is_documented() -> None:
    """Editors show the docstring beside the name."""
    for name in PUBLIC:
        member = inspect.getattr_static(Context, name)
        documented = member.fget if isinstance(member, property) else member
        assert inspect.getdoc(documented), name


async def test_a_patch_of_a_status_is_written_and_waited_for() -> None:
    """It changes only the status, and the next run sees it, however far the cache lags."""
    operator = Operator("patching")
    operator.permit(Pod, "patch", subresource="status")
    seen: list[str | None] = []

    @operator.reconciler(Widget, owns=[Pod])
    async def reconcile(_: Widget, ctx: Ctx) -> None:
        (pod,) = ctx.owned(Pod) or [await ctx.create(Pod(meta("child"), spec=PodSpec(containers=[MAIN])))]
        seen.append(pod.status.phase)
        if pod.status.phase != "Running":
            cluster.faults.hold("/pods")
            patch = {"spec": {"nodeName": "other"}, "status": {"phase": "Running"}}
            patched = await ctx.patch(pod, patch, status=True)
            assert (patched.spec.node_name, patched.status.phase) == (None, "Running")
            ctx.requeue_after(1)

    async with running(operator) as cluster:
        await cluster.client.create(Widget(meta("a"), WidgetSpec()))
        await clock_of(cluster).advance(2)
        assert seen == ["Pending"], "it ran again before the cache had its write"
        cluster.faults.release("/pods")
        await clock_of(cluster).advance(2)
        assert set(seen[1:]) == {"Running"}
