"""Stale states: a restarted operator reads an old state, and deletes what the current one needs."""

from collections.abc import Callable

from steersman import Context, Operator
from steersman.controller.triggers import Watch
from steersman.kinds.core_v1 import ConfigMap
from tests.simulation.patterns.database import (
    Database,
    DatabaseSpec,
    Pattern,
    delete_by_name,
    is_current,
    part,
    recreated,
    stepwise,
)

FINALIZER = "patterns.example.com/volume"
STALE = "stale-restart"


def deleted_volume(volume: str) -> Callable[[bool], Operator]:
    """Return the maker of an operator that deletes a volume by its name when it sees a deleted database."""

    def make(is_correct: bool) -> Operator:
        operator = Operator("volume")

        @operator.reconciler(Database, owns=[ConfigMap], while_deleting=True)
        async def reconcile(database: Database, ctx: Context[Database]) -> None:
            finalizers = list(database.metadata.finalizers)
            if database.metadata.deletion_timestamp is None:
                if FINALIZER not in finalizers:
                    await ctx.patch(database, {"metadata": {"finalizers": [*finalizers, FINALIZER]}})
                if not await _exists(ctx, volume, in_cluster=is_correct):
                    await ctx.create(part(volume), owned=False)
            elif FINALIZER in finalizers and (not is_correct or await is_current(ctx, database)):
                await delete_by_name(ctx, volume)
                await ctx.patch(database, {"metadata": {"finalizers": [f for f in finalizers if f != FINALIZER]}})

        return operator

    return make


async def _exists(ctx: Context[Database], volume: str, *, in_cluster: bool) -> bool:
    """Return whether a volume exists. Volumes that are not owned cause no events, so the cache is not enough."""
    found = await (ctx.client.try_get(ConfigMap, volume, "default") if in_cluster else ctx.get(ConfigMap, volume))
    return found is not None


def orphaned_volume(volume: str) -> Callable[[bool], Operator]:
    """Return the maker of an operator that deletes volumes whose database it does not see."""

    def make(is_correct: bool) -> Operator:
        operator = Operator("orphans")

        @operator.reconciler(Database, owns=[ConfigMap], name="databases")
        async def create(_: Database, ctx: Context[Database]) -> None:
            if not await _exists(ctx, volume, in_cluster=is_correct):
                await ctx.create(part(volume, part_of="database"), owned=False)

        @operator.reconciler(
            ConfigMap, watches=[Watch(Database, lambda _: [f"default/{volume}"])], name="volumes", resync=30
        )
        async def collect(found: ConfigMap, ctx: Context[ConfigMap]) -> None:
            if (found.data or {}).get("part_of") != "database" or await ctx.get(Database, "a", "default") is not None:
                return
            if not is_correct or await ctx.client.try_get(Database, "a", "default") is None:
                await ctx.delete(found)

        return operator

    return make


def toggled_part(name: str) -> Callable[[bool], Operator]:
    """Return the maker of an operator that deletes the part of a feature that it sees switched off."""

    def make(is_correct: bool) -> Operator:
        operator = Operator("feature")

        @operator.reconciler(Database, owns=[ConfigMap])
        async def reconcile(database: Database, ctx: Context[Database]) -> None:
            if database.spec.feature:
                await ctx.apply(part(name))
            elif not is_correct or await is_current(ctx, database):
                await delete_by_name(ctx, name)

        return operator

    return make


def scaled_volumes(prefix: str) -> Callable[[bool], Operator]:
    """Return the maker of an operator that deletes the volumes beyond the number of replicas that it sees."""

    def make(is_correct: bool) -> Operator:
        operator = Operator("scale")

        @operator.reconciler(Database, owns=[ConfigMap])
        async def reconcile(database: Database, ctx: Context[Database]) -> None:
            for number in range(database.spec.replicas):
                await ctx.apply(part(f"{prefix}-{number}"))
            for volume in ctx.owned(ConfigMap):
                is_extra = int(volume.name.rpartition("-")[2]) >= database.spec.replicas
                if is_extra and (not is_correct or await is_current(ctx, database)):
                    await ctx.delete(volume)

        return operator

    return make


def replaced_part(name: str) -> Callable[[bool], Operator]:
    """Return the maker of an operator that replaces a part whose value is not the one that it sees."""

    def make(is_correct: bool) -> Operator:
        operator = Operator("replace")

        @operator.reconciler(Database, owns=[ConfigMap])
        async def reconcile(database: Database, ctx: Context[Database]) -> None:
            wanted = part(name, value=database.spec.value)
            found = next((child for child in ctx.owned(ConfigMap) if child.name == name), None)
            if found is not None and found.data != wanted.data:
                if is_correct and not await is_current(ctx, database):
                    return
                await ctx.delete(found)
                found = None
            if found is None and (not is_correct or await is_current(ctx, database)):
                await ctx.create(wanted)

        return operator

    return make


TOGGLED = stepwise(DatabaseSpec(feature=True), DatabaseSpec(feature=False), DatabaseSpec(feature=True))
SCALED = stepwise(DatabaseSpec(replicas=2), DatabaseSpec(replicas=1), DatabaseSpec(replicas=2))
CHANGED = stepwise(DatabaseSpec(value="one"), DatabaseSpec(value="two"))

PATTERNS = [
    Pattern("cass-operator 412", deleted_volume("server-data"), recreated, STALE),
    Pattern("cassandra-operator 402", deleted_volume("data-volume"), recreated, STALE),
    Pattern("casskop 316", deleted_volume("data-cassandra"), recreated, STALE),
    Pattern("percona-server-mongodb-operator 430", deleted_volume("mongod-data"), recreated, STALE),
    Pattern("rabbitmq cluster-operator 648", deleted_volume("server"), recreated, STALE),
    Pattern("percona-xtradb-cluster-operator 716", orphaned_volume("datadir-pxc"), recreated, STALE),
    Pattern("zookeeper-operator 312", orphaned_volume("data-zookeeper"), recreated, STALE),
    Pattern("cloud-on-k8s 5249", orphaned_volume("elasticsearch-data"), recreated, STALE),
    Pattern("percona-server-mongodb-operator 433", toggled_part("mongos"), TOGGLED, STALE),
    Pattern("percona-server-mongodb-operator 438", toggled_part("arbiter"), TOGGLED, STALE),
    Pattern("percona-xtradb-cluster-operator 725", toggled_part("haproxy"), TOGGLED, STALE),
    Pattern("percona-xtradb-cluster-operator 763", toggled_part("proxysql"), TOGGLED, STALE),
    Pattern("yugabyte-operator 35", toggled_part("tls-certificates"), TOGGLED, STALE),
    Pattern("yugabyte-operator 36", toggled_part("user-interface"), TOGGLED, STALE),
    Pattern("cassandra-operator 407", scaled_volumes("data-volume"), SCALED, STALE),
    Pattern("cloud-on-k8s 5274", scaled_volumes("elasticsearch-data"), SCALED, STALE),
    Pattern("zookeeper-operator 314", scaled_volumes("data-zookeeper"), SCALED, STALE),
    Pattern("casskop 321", replaced_part("disruption-budget"), CHANGED, STALE),
    Pattern("rabbitmq cluster-operator 653", replaced_part("stateful-set"), CHANGED, STALE),
]
