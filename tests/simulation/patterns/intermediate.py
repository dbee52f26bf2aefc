"""Intermediate states: a crash between two writes that belong together, and nothing that brings the second back."""

from collections.abc import Callable

from steersman import Context, Operator, meta
from steersman.kinds.core_v1 import ConfigMap, Secret, Service, ServiceAccount, ServicePort, ServiceSpec
from steersman.objects.resource import KubeObject
from tests.simulation.patterns.database import Database, DatabaseSpec, Pattern, part, stepwise

ONCE = stepwise(DatabaseSpec())
CHANGED = stepwise(DatabaseSpec(value="one"), DatabaseSpec(value="two"))

Maker = Callable[[str], KubeObject]


def _secret(name: str) -> KubeObject:
    return Secret(meta(name), string_data={"key": "value"})


def _account(name: str) -> KubeObject:
    return ServiceAccount(meta(name))


def _service(name: str) -> KubeObject:
    return Service(meta(name), spec=ServiceSpec(cluster_ip="None", ports=[ServicePort(port=80)]))


def _config(name: str) -> KubeObject:
    return part(name)


def guarded_pair(first: Maker, second: Maker) -> Callable[[bool], Operator]:
    """Return the maker of an operator that takes its first object for a sign that the second one exists."""

    def make(is_correct: bool) -> Operator:
        operator = Operator("pair")
        kinds = dict.fromkeys([type(first("x")), type(second("x"))])

        @operator.reconciler(Database, owns=kinds)
        async def reconcile(database: Database, ctx: Context[Database]) -> None:
            one, two = first(f"{database.name}-ssl"), second(f"{database.name}-ssl-internal")
            names = {child.name for kind in kinds for child in ctx.owned(kind)}
            if one.name not in names:
                await ctx.create(one)
                if not is_correct:
                    await ctx.create(two)
            if is_correct and two.name not in names:
                await ctx.create(two)

        return operator

    return make


def resized_set(is_correct: bool) -> Operator:
    """Resize a volume: the set is deleted first, and only its old size said that the volume has to grow."""
    operator = Operator("resize")

    @operator.reconciler(Database, owns=[ConfigMap])
    async def reconcile(database: Database, ctx: Context[Database]) -> None:
        parts = {child.name: child for child in ctx.owned(ConfigMap)}
        wanted = {"size": database.spec.value}
        controller, volume = parts.get("a-set"), parts.get("a-volume")
        if volume is None:
            await ctx.create(part("a-volume", **wanted))
        elif is_correct and volume.data != wanted:
            await ctx.patch(volume, {"data": wanted})
        if controller is not None and controller.data != wanted:
            await ctx.delete(controller)
            if volume is not None and not is_correct:
                await ctx.patch(volume, {"data": wanted})
            controller = None
        if controller is None:
            await ctx.create(part("a-set", **wanted))

    return operator


def config_before_note(is_correct: bool) -> Operator:
    """Write a configuration, then note that pods have to restart: once it is written, nothing asks for the note."""
    operator = Operator("config")

    @operator.reconciler(Database, owns=[ConfigMap])
    async def reconcile(database: Database, ctx: Context[Database]) -> None:
        parts = {child.name: child for child in ctx.owned(ConfigMap)}
        wanted = {"value": database.spec.value}
        config, pod = parts.get("a-config"), parts.get("a-pod")
        differs = config is None or config.data != wanted
        if differs:
            await ctx.apply(part("a-config", **wanted))
        stale_pod = pod is None or (pod.data != wanted if is_correct else differs)
        if stale_pod:
            await ctx.apply(part("a-pod", **wanted))

    return operator


def skipped_steps(is_correct: bool) -> Operator:
    """Create a pod and then register it: a pod that exists is taken for a registered one."""
    operator = Operator("register")

    @operator.reconciler(Database, owns=[ConfigMap])
    async def reconcile(database: Database, ctx: Context[Database]) -> None:
        names = {child.name for child in ctx.owned(ConfigMap)}
        is_new = "a-pod" not in names
        if is_new:
            await ctx.create(part("a-pod"))
        if is_new or (is_correct and database.status.replicas == 0):
            await ctx.apply(part("a-registry", pods="1"))
            database.status.replicas = 1

    return operator


def remembered_in_memory(is_correct: bool) -> Operator:
    """Remove the volume of a pod after the pod: which one it is, only the process knows."""
    operator = Operator("memory")
    finalizing: set[str] = set()

    @operator.reconciler(Database, owns=[ConfigMap])
    async def reconcile(database: Database, ctx: Context[Database]) -> None:
        parts = {child.name: child for child in ctx.owned(ConfigMap)}
        for number in range(database.spec.replicas):
            for name in (f"a-volume-{number}", f"a-pod-{number}"):
                if name not in parts:
                    await ctx.create(part(name))
        for number in range(database.spec.replicas, 3):
            volume, pod = f"a-volume-{number}", f"a-pod-{number}"
            if pod in parts:
                finalizing.add(volume)
                await ctx.delete(parts[pod])
            elif volume in parts and (is_correct or volume in finalizing):
                await ctx.delete(parts[volume])

    return operator


def label_says_starting(is_correct: bool) -> Operator:
    """Label a pod as starting, then start it: after a crash the label says that it is being started."""
    operator = Operator("starting")

    @operator.reconciler(Database, owns=[ConfigMap])
    async def reconcile(_: Database, ctx: Context[Database]) -> None:
        parts = {child.name: child for child in ctx.owned(ConfigMap)}
        pod = parts.get("a-pod")
        state = (pod.data or {}).get("state", "") if pod is not None else ""
        if pod is None:
            pod = await ctx.create(part("a-pod", state=""))
        if state == "":
            pod = await ctx.patch(pod, {"data": {"state": "starting"}})
        if state == "" or (is_correct and state == "starting"):
            await ctx.apply(part("a-process", pid="1"))
            await ctx.patch(pod, {"data": {"state": "started"}})

    return operator


def interrupted_cleanup(is_correct: bool) -> Operator:
    """Clean up after a feature is switched off: the set goes first, and without it nothing is left to clean up."""
    operator = Operator("cleanup")

    @operator.reconciler(Database, owns=[ConfigMap])
    async def reconcile(database: Database, ctx: Context[Database]) -> None:
        parts = {child.name: child for child in ctx.owned(ConfigMap)}
        names = ("a-proxy-set", "a-proxy-volume")
        if database.spec.feature:
            for name in names:
                if name not in parts:
                    await ctx.create(part(name))
        elif is_correct or "a-proxy-set" in parts:
            for name in names:
                if name in parts:
                    await ctx.delete(parts[name])

    return operator


CRASH = "crash-after"
PATTERNS = [
    Pattern("percona-server-mongodb-operator 578", guarded_pair(_secret, _secret), ONCE, CRASH),
    Pattern("percona-server-mongodb-operator 579", guarded_pair(_config, _secret), ONCE, CRASH),
    Pattern("percona-xtradb-cluster-operator 896", guarded_pair(_secret, _service), ONCE, CRASH),
    Pattern("percona-xtradb-cluster-operator 897", guarded_pair(_account, _config), ONCE, CRASH),
    Pattern("cass-operator 1023", guarded_pair(_secret, _config), ONCE, CRASH),
    Pattern("rabbitmq cluster-operator 782", resized_set, CHANGED, CRASH),
    Pattern("nifikop 49", config_before_note, CHANGED, CRASH),
    Pattern("nifikop 79", skipped_steps, ONCE, CRASH),
    Pattern("casskop 370", remembered_in_memory, stepwise(DatabaseSpec(replicas=2), DatabaseSpec(replicas=1)), CRASH),
    Pattern("cass-operator 1362", label_says_starting, ONCE, CRASH),
    Pattern(
        "percona-xtradb-cluster-operator 979",
        interrupted_cleanup,
        stepwise(DatabaseSpec(feature=True), DatabaseSpec(feature=False)),
        CRASH,
    ),
]
