"""Unobserved states: one that the operator relies on appears and disappears while it does not watch."""

from collections.abc import Callable

from steersman import Context, Operator, meta
from steersman.kinds.core_v1 import ConfigMap
from steersman.testing import Cluster
from tests.simulation.patterns.database import Database, DatabaseSpec, Pattern, part, stepwise

UNSEEN = "events-unobserved"
HELD = "patterns.example.com/held"


def departing_pod(is_correct: bool) -> Operator:
    """Delete the volume of a pod while the pod is being deleted; a deleted pod is no longer known."""
    operator = Operator("departing")

    @operator.reconciler(Database, owns=[ConfigMap])
    async def reconcile(_: Database, ctx: Context[Database]) -> None:
        parts = {child.name: child for child in ctx.owned(ConfigMap)}
        pod, volume = parts.get("a-pod"), parts.get("a-volume")
        if pod is None and volume is None:
            pod = await ctx.create(ConfigMap(meta("a-pod", finalizers=[HELD])))
            if not is_correct:
                await ctx.create(part("a-volume"))
        elif volume is not None and (pod is None if is_correct else _is_going(pod)):
            await ctx.delete(volume)
            volume = None
        if is_correct and volume is None and pod is not None and not _is_going(pod):
            await ctx.create(part("a-volume"))

    return operator


def _is_going(pod: ConfigMap | None) -> bool:
    return pod is not None and pod.metadata.deletion_timestamp is not None


async def a_pod_is_deleted(cluster: Cluster) -> None:
    """Delete a pod; its node confirms a while later that it ended, as it does for every other one."""
    await cluster.client.create(Database(meta("a")))
    await cluster.eventually(lambda: any(one.name == "a-pod" for one in cluster.list(ConfigMap)))
    await _rest_beside_node(cluster)
    await cluster.client.delete(await cluster.client.get(ConfigMap, "a-pod", "default"))
    await _rest_beside_node(cluster)


async def _rest_beside_node(cluster: Cluster) -> None:
    """Wait for rest, and confirm the end of each pod that is being deleted."""
    await cluster.settle()
    while going := [one for one in cluster.list(ConfigMap) if one.name == "a-pod" and _is_going(one)]:
        await cluster.client.patch(going[0], {"metadata": {"finalizers": None}})
        await cluster.settle()


def one_by_one(is_correct: bool) -> Operator:
    """Delete the last volume whenever the number of replicas falls, as if it fell by one."""
    operator = Operator("shrinking")

    @operator.reconciler(Database, owns=[ConfigMap])
    async def reconcile(database: Database, ctx: Context[Database]) -> None:
        wanted = database.spec.replicas
        for number in range(wanted):
            await ctx.apply(part(f"a-{number}"))
        for volume in ctx.owned(ConfigMap):
            number = int(volume.name.rpartition("-")[2])
            if number == wanted or (is_correct and number > wanted):
                await ctx.delete(volume)
        database.status.replicas = wanted

    return operator


def kept_volumes(prefix: str) -> Callable[[bool], Operator]:
    """Return the maker of an operator whose volumes record every number of replicas that it ever saw."""

    def make(is_correct: bool) -> Operator:
        operator = Operator("growing")

        @operator.reconciler(Database, owns=[ConfigMap])
        async def reconcile(database: Database, ctx: Context[Database]) -> None:
            for number in range(database.spec.replicas):
                await ctx.apply(part(f"{prefix}-{number}"))
            for volume in ctx.owned(ConfigMap) if is_correct else []:
                if int(volume.name.rpartition("-")[2]) >= database.spec.replicas:
                    await ctx.delete(volume)

        return operator

    return make


def toggled_arbiter(is_correct: bool) -> Operator:
    """Create the part of a feature when it is switched on, and never remove it."""
    operator = Operator("arbiter")

    @operator.reconciler(Database, owns=[ConfigMap])
    async def reconcile(database: Database, ctx: Context[Database]) -> None:
        if database.spec.feature:
            await ctx.apply(part("a-arbiter"))
        elif is_correct:
            for child in ctx.owned(ConfigMap):
                await ctx.delete(child)

    return operator


def missed_creation(is_correct: bool) -> Operator:
    """Register a member while it is new; one that is first seen when it is old is taken for registered."""
    operator = Operator("members")

    @operator.reconciler(Database, owns=[ConfigMap])
    async def reconcile(database: Database, ctx: Context[Database]) -> None:
        names = {child.name for child in ctx.owned(ConfigMap)}
        is_new = database.spec.value == "new"
        if "a-member" not in names and (is_new or is_correct):
            await ctx.create(part("a-member"))

    return operator


def _replicas(*counts: int) -> list[DatabaseSpec]:
    return [DatabaseSpec(replicas=count) for count in counts]


PATTERNS = [
    Pattern("cassandra-operator 398", departing_pod, a_pod_is_deleted, UNSEEN),
    Pattern("casskop 342", one_by_one, stepwise(*_replicas(2, 1, 0)), UNSEEN),
    Pattern("rabbitmq cluster-operator 758", kept_volumes("persistence"), stepwise(*_replicas(1, 3, 2)), UNSEEN),
    Pattern("percona-xtradb-cluster-operator 918", kept_volumes("datadir"), stepwise(*_replicas(3, 5, 3)), UNSEEN),
    Pattern("yugabyte-operator 39", kept_volumes("tserver"), stepwise(*_replicas(3, 4, 3)), UNSEEN),
    Pattern(
        "percona-server-mongodb-operator 585",
        toggled_arbiter,
        stepwise(DatabaseSpec(feature=False), DatabaseSpec(feature=True), DatabaseSpec(feature=False)),
        UNSEEN,
    ),
    Pattern(
        "zookeeper-operator 453",
        missed_creation,
        stepwise(DatabaseSpec(value="new"), DatabaseSpec(value="old")),
        UNSEEN,
    ),
]
