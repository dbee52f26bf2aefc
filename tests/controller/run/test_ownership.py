"""`ctx.apply` and objects that belong to another owner: what it rejects, what it adopts, and what it costs.

The operator cannot know what exists: its cache lags, has no field managers, and does not contain every kind; and an
object can appear between a read and the write. So each test has an object that the operator does not expect.
"""

import pytest

from steersman.controller.context import Context
from steersman.errors import AlreadyOwned, Conflict
from steersman.kinds.core_v1 import ConfigMap, Secret
from steersman.kinds.events_v1 import Event
from steersman.manager.operator import Operator
from steersman.objects.codec import encode
from steersman.objects.meta import Condition, OwnerReference, meta
from steersman.objects.resource import resource_of
from steersman.protocol.options import WriteOptions
from steersman.protocol.requests import Requests
from steersman.testing.cluster import Cluster
from steersman.testing.faults import Before, Lose
from tests.controller.stage import Ctx, clock_of, create, only, resize, running, send_now
from tests.support.widgets import Widget, WidgetSpec


def applying(*, owned: bool = True, adopt: bool = False, force: bool = True, watched: bool = True) -> Operator:
    """Return an operator that applies the ConfigMap `shared` for each widget."""
    operator = Operator("applying")
    if not watched:
        operator.permit(ConfigMap, "get", "create", "patch")

    @operator.reconciler(Widget, owns=[ConfigMap] if watched else [])
    async def reconcile(widget: Widget, ctx: Ctx) -> None:
        child = ConfigMap(meta("shared"), data={"size": str(widget.spec.size)})
        await ctx.apply(child, owned=owned, adopt=adopt, force=force)
        ctx.condition("Applied", True, "Done")  # noqa: FBT003 - reads as the condition it is

    return operator


async def shared(cluster: Cluster) -> ConfigMap:
    """Return the ConfigMap from the server."""
    return await cluster.client.get(ConfigMap, "shared")


def ready_of(widget: Widget) -> Condition:
    """Return the Ready condition of a widget."""
    ready = widget.status.condition("Ready")
    assert ready is not None
    return ready


@pytest.mark.parametrize("owned", [True, False])
@pytest.mark.parametrize("watched", [True, False])
async def test_an_object_created_by_a_user_is_not_taken_over(*, owned: bool, watched: bool) -> None:
    """With our controller reference it would be deleted together with the owner."""
    async with running(applying(owned=owned, watched=watched)) as cluster:
        await cluster.client.as_manager("kubectl-create").create(ConfigMap(meta("shared"), data={"mine": "yes"}))
        await cluster.settle()
        await create(cluster)
        kept = await shared(cluster)
        assert (kept.data, kept.metadata.owner_references) == ({"mine": "yes"}, [])
        ready = ready_of(only(cluster))
        assert (ready.status, ready.reason, ready.observed_generation) == ("False", "AlreadyOwned", 1)
        assert "ConfigMap default/shared" in ready.message
        assert "kubectl-create" in ready.message
        assert [(event.type, event.reason) for event in cluster.list(Event)] == [("Warning", "AlreadyOwned")]


async def test_an_object_in_which_the_operator_only_set_a_label_is_not_taken_over() -> None:
    """Its field manager is in the object then, as after a status or a finalizer, but it did not create the object."""
    async with running(applying()) as cluster:
        await cluster.client.as_manager("kubectl-create").create(ConfigMap(meta("shared"), data={"mine": "yes"}))
        found = await shared(cluster)
        await cluster.client.as_manager("applying").patch(found, {"metadata": {"labels": {"seen": "yes"}}})
        await create(cluster)
        kept = await shared(cluster)
        assert (kept.data, kept.metadata.owner_references) == ({"mine": "yes"}, [])
        assert ready_of(only(cluster)).reason == "AlreadyOwned"


@pytest.mark.parametrize("watched", [True, False])
async def test_the_condition_is_removed_once_the_object_is_deleted(*, watched: bool) -> None:
    """A watched kind triggers the owner at once, any other is checked again within half a minute."""
    async with running(applying(watched=watched)) as cluster:
        made = await cluster.client.create(ConfigMap(meta("shared"), data={"mine": "yes"}))
        await cluster.settle()
        await create(cluster)
        assert ready_of(only(cluster)).reason == "AlreadyOwned"
        await cluster.client.delete(made)
        await cluster.settle()
        if not watched:
            await clock_of(cluster).advance(30.0)
            await cluster.settle()
        assert (await shared(cluster)).is_controlled_by(only(cluster))
        assert only(cluster).status.condition("Ready") is None


async def test_two_objects_that_name_the_same_child_do_not_take_it_from_each_other() -> None:
    """The first keeps it, the second reports who has it; when the first is deleted, the second gets its own."""
    async with running(applying()) as cluster:
        first = await create(cluster, "first", size=1)
        await create(cluster, "second", size=2)
        assert (await shared(cluster)).data == {"size": "1"}
        assert (await shared(cluster)).is_controlled_by(first)
        second = await cluster.client.get(Widget, "second")
        assert ready_of(second).reason == "AlreadyOwned"
        assert "Widget first" in ready_of(second).message
        assert (await cluster.client.get(Widget, "first")).status.condition("Ready") is None
        await cluster.client.delete(first)
        await cluster.settle()
        await clock_of(cluster).advance(1.0)
        await cluster.settle()
        assert (await shared(cluster)).is_controlled_by(second)
        assert (await cluster.client.get(Widget, "second")).status.condition("Ready") is None


async def test_a_child_that_appears_between_read_and_write_is_not_taken_over() -> None:
    """Neither the cache nor the read showed it: only the server can reject the write."""
    async with running(applying()) as cluster:

        def race() -> None:
            made = ConfigMap(meta("shared"), data={"mine": "yes"})
            options = WriteOptions(field_manager="kubectl-create")
            request = Requests(resource_of(ConfigMap)).create("default", encode(made), options)
            assert send_now(cluster.server, request).status == 201

        cluster.faults.inject(Before(race), method="PATCH", path="/configmaps/shared")
        await create(cluster)
        assert (await shared(cluster)).data == {"mine": "yes"}
        assert ready_of(only(cluster)).reason == "AlreadyOwned"


async def test_a_child_that_is_replaced_behind_a_stale_cache_is_not_taken_over() -> None:
    """The cache still shows our own object, but another one has its name now."""
    async with running(applying()) as cluster:
        await create(cluster)
        cluster.faults.hold("/configmaps")
        await cluster.client.delete(await shared(cluster))
        await cluster.client.as_manager("kubectl-create").create(ConfigMap(meta("shared"), data={"mine": "yes"}))
        await cluster.client.patch(only(cluster), {"spec": {"size": 7}})
        await clock_of(cluster).settle()
        assert (await shared(cluster)).data == {"mine": "yes"}
        cluster.faults.release()
        await cluster.settle()
        assert ready_of(only(cluster)).reason == "AlreadyOwned"
        assert (await shared(cluster)).data == {"mine": "yes"}


async def test_adoption_must_be_requested() -> None:
    """`adopt=True` takes objects without a controller."""
    async with running(applying(adopt=True)) as cluster:
        await cluster.client.create(ConfigMap(meta("shared"), data={"mine": "yes"}))
        await cluster.settle()
        await create(cluster, size=3)
        adopted = await shared(cluster)
        assert adopted.data == {"mine": "yes", "size": "3"}
        assert adopted.is_controlled_by(only(cluster))


@pytest.mark.parametrize("owned", [True, False])
async def test_adoption_never_takes_an_object_from_another_controller(*, owned: bool) -> None:
    """Two controllers of one object would overwrite each other forever."""
    async with running(applying(owned=owned, adopt=True)) as cluster:
        other = await cluster.client.create(ConfigMap(meta("other")))
        owner = OwnerReference(api_version="v1", kind="ConfigMap", name="other", uid=other.uid, controller=True)
        await cluster.client.create(ConfigMap(meta("shared", owner_references=[owner])))
        await cluster.settle()
        await create(cluster)
        assert ready_of(only(cluster)).reason == "AlreadyOwned"
        assert "ConfigMap other" in ready_of(only(cluster)).message
        assert (await shared(cluster)).data is None


async def test_objects_created_before_a_restart_are_its_own() -> None:
    """Neither the memory of the process nor its cache shows that for a shared object: its field manager does."""
    async with running(applying(owned=False)) as cluster:
        await create(cluster, size=1)
        async with cluster.running(applying(owned=False)):
            await resize(cluster, 2)
            assert (await shared(cluster)).data == {"size": "2"}
            assert only(cluster).status.condition("Ready") is None


async def test_a_child_of_a_recreated_owner_is_waited_for_without_a_warning() -> None:
    """The garbage collector deletes it soon; until then it belongs to the former owner of the same name."""
    async with running(applying()) as cluster:
        gone = OwnerReference(
            api_version="runtime.example.com/v1", kind="Widget", name="a", uid="an-earlier-uid", controller=True
        )
        await cluster.client.create(ConfigMap(meta("shared", finalizers=["example.com/slow"], owner_references=[gone])))
        await create(cluster)
        assert only(cluster).status.condition("Ready") is None
        assert cluster.list(Event) == []
        await cluster.client.patch(await shared(cluster), {"metadata": {"finalizers": None}})
        await cluster.settle()
        await clock_of(cluster).advance(60.0)
        assert (await shared(cluster)).is_controlled_by(only(cluster))


async def test_a_write_whose_answer_was_lost_is_recognised() -> None:
    """The retry finds the object that the first attempt created; that is not another owner."""
    async with running(applying()) as cluster:
        cluster.faults.inject(Lose(), method="PATCH", path="/configmaps/shared")
        await create(cluster)
        await clock_of(cluster).advance(60.0)
        assert (await shared(cluster)).is_controlled_by(only(cluster))
        assert only(cluster).status.condition("Ready") is None


async def test_the_usual_cases_need_no_request_but_the_write() -> None:
    """One request for a new or changed child, none for an unchanged one."""
    async with running(applying()) as cluster:
        await create(cluster, size=1)
        assert cluster.faults.count("PATCH", "/configmaps/shared") == 1
        await resize(cluster, 2)
        assert cluster.faults.count("PATCH", "/configmaps/shared") == 2
        await cluster.client.patch(only(cluster), {"metadata": {"labels": {"x": "y"}}})
        await cluster.settle()
        assert cluster.faults.count("PATCH", "/configmaps/shared") == 2
        assert cluster.faults.count("GET", "/configmaps/shared") == 0


async def test_an_unwatched_child_is_read_once() -> None:
    """Afterwards the process knows it by its uid; the read fetches no content."""
    operator = Operator("unwatched")
    operator.permit(Secret, "get", "create", "patch")

    @operator.reconciler(Widget)
    async def reconcile(widget: Widget, ctx: Ctx) -> None:
        await ctx.apply(Secret(meta("shared"), string_data={"size": str(widget.spec.size)}))

    async with running(operator) as cluster:
        await create(cluster, size=1)
        for size in (2, 3):
            await resize(cluster, size)
        assert cluster.faults.count("GET", "/secrets/shared") == 1
        assert cluster.faults.count("PATCH", "/secrets/shared") == 3


async def test_an_unwatched_child_that_changed_meanwhile_is_read_again() -> None:
    """It may belong to another owner by now: here a user has changed it."""
    async with running(applying(watched=False)) as cluster:
        await create(cluster, size=1)
        other = await cluster.client.create(ConfigMap(meta("other")))
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": other.uid, "controller": True}
        await cluster.client.patch(await shared(cluster), {"metadata": {"ownerReferences": [owner]}})
        await resize(cluster, 2)
        assert (await shared(cluster)).data == {"size": "1"}
        assert "ConfigMap other" in ready_of(only(cluster)).message


async def test_without_force_a_conflict_names_the_manager_and_writes_nothing() -> None:
    """The author must resolve a conflict about a field of their own object."""
    operator = Operator("polite")
    conflicts: list[Conflict] = []

    @operator.reconciler(Widget, owns=[ConfigMap])
    async def reconcile(widget: Widget, ctx: Ctx) -> None:
        try:
            await ctx.apply(ConfigMap(meta("shared"), data={"size": str(widget.spec.size)}), force=False)
        except Conflict as error:
            conflicts.append(error)

    async with running(operator) as cluster:
        await create(cluster, size=1)
        await cluster.client.as_manager("tuner").patch(await shared(cluster), {"data": {"size": "9"}})
        await cluster.settle()
        assert (await shared(cluster)).data == {"size": "9"}
        assert "tuner" in str(conflicts[0])


async def test_authors_can_catch_the_error() -> None:
    """They may choose another name, for example."""
    operator = Operator("catching")
    owners: list[str] = []

    @operator.reconciler(Widget, owns=[ConfigMap])
    async def reconcile(widget: Widget, ctx: Context[Widget]) -> None:
        try:
            await ctx.apply(ConfigMap(meta("shared")))
        except AlreadyOwned as taken:
            owners.append(taken.owner)
            await ctx.apply(ConfigMap(meta(f"shared-{widget.name}")))

    async with running(operator) as cluster:
        await cluster.client.create(ConfigMap(meta("shared"), data={"mine": "yes"}))
        await cluster.settle()
        await cluster.client.create(Widget(meta("a"), WidgetSpec()))
        await cluster.settle()
        assert [child.name for child in cluster.list(ConfigMap)] == ["shared", "shared-a"]
        assert set(owners) == {"field managers: steersman"}


async def test_the_reconciled_object_itself_may_be_applied() -> None:
    """A user created it, and the operator adds a label: that takes nothing over."""
    operator = Operator("labelling")
    operator.permit(Widget, "patch")

    @operator.reconciler(Widget)
    async def reconcile(widget: Widget, ctx: Ctx) -> None:
        await ctx.apply(Widget(meta(widget.name, labels={"seen": "yes"}), widget.spec), owned=False)

    async with running(operator) as cluster:
        await create(cluster, size=3)
        assert (only(cluster).labels, only(cluster).spec.size) == ({"seen": "yes"}, 3)
        assert only(cluster).status.condition("Ready") is None
