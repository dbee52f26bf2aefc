"""Operators under test have exactly the permissions they declare; used ones are compared with granted ones."""

import pytest

from steersman import Context, Model, Operator, Resource, Status, custom_resource, meta
from steersman.errors import DeclarationError, Forbidden, WaitTimeout
from steersman.kinds.core_v1 import ConfigMap, Pod, Secret
from steersman.manager.leader.election import ElectionOptions
from steersman.manager.manager import ManagerOptions
from steersman.manager.rbac import grants_of
from steersman.testing.cluster import Cluster


class JobSpec(Model):
    """The desired state."""

    copies: int = 0


class JobStatus(Status):
    """The observed state."""

    copies: int = 0


@custom_resource("rights.example.com/v1", kind="Task")
class Task(Resource[JobSpec, JobStatus]):
    """A kind with children."""


def _reader(*verbs: str) -> Operator:
    """Return an operator that reads a Secret for each ConfigMap, with or without the permission."""
    operator = Operator("reader")
    if verbs:
        operator.permit(Secret, *verbs)

    @operator.reconciler(ConfigMap)
    async def reconcile(source: ConfigMap, ctx: Context[ConfigMap]) -> None:
        if source.namespace == "default":
            await ctx.get(Secret, source.name)

    return operator


async def _live(cluster: Cluster, operator: Operator, options: ManagerOptions | None = None) -> None:
    """Run an operator and create a ConfigMap."""
    async with cluster.running(operator, options=options):
        await cluster.client.create(ConfigMap(meta("a")))
        await cluster.settle()


async def test_an_operator_that_needs_more_than_it_declares_fails_its_test(cluster: Cluster) -> None:
    """Otherwise it would fail in a cluster; the message is the line to write."""
    with pytest.raises(AssertionError) as caught:
        await _live(cluster, _reader())
    assert str(caught.value) == (
        "operator 'reader' was denied requests that it does not declare:\n"
        '  get secrets in namespace default: add operator.permit(Secret, "get")'
    )


async def test_a_test_that_fails_because_of_a_missing_permission_says_so(cluster: Cluster) -> None:
    """A condition that never holds does not say why."""

    async def wait_in_vain() -> None:
        async with cluster.running(_reader()):
            await cluster.client.create(ConfigMap(meta("a")))
            await cluster.eventually(lambda: False, within=0.05)

    with pytest.raises(WaitTimeout) as caught:
        await wait_in_vain()
    assert any('operator.permit(Secret, "get")' in note for note in caught.value.__notes__)


async def test_a_permitted_request_is_allowed(cluster: Cluster) -> None:
    """The line that the message asks for is enough."""
    operator = _reader("get")
    await _live(cluster, operator)
    cluster.assert_rbac_minimal(operator)


async def test_an_unused_permission_is_named(cluster: Cluster) -> None:
    """A permission for an earlier version of the code would stay forever."""
    operator = _reader("get", "update", "delete")
    await _live(cluster, operator)
    with pytest.raises(AssertionError) as caught:
        cluster.assert_rbac_minimal(operator)
    assert str(caught.value) == (
        "the permissions of operator 'reader' are not minimal:\n"
        "  update, delete secrets was never used: extend the test so that it is used, or remove it from "
        'operator.permit(Secret, "update", "delete")'
    )


async def test_a_missing_permission_is_named_too(cluster: Cluster) -> None:
    """Also in a test that expects the failure of its run."""
    operator = _reader()
    with pytest.raises(AssertionError, match="was denied"):
        await _live(cluster, operator)
    with pytest.raises(
        AssertionError, match=r'get secrets in namespace default: add operator\.permit\(Secret, "get"\)'
    ):
        cluster.assert_rbac_minimal(operator)


def _owner() -> Operator:
    operator = Operator("owner")

    @operator.reconciler(Task, owns=[ConfigMap])
    async def reconcile(task: Task, ctx: Context[Task]) -> None:
        for number in range(task.spec.copies):
            await ctx.apply(ConfigMap(meta(f"{task.name}-{number}")))
        await ctx.prune(ConfigMap)
        task.status.copies = task.spec.copies
        ctx.event("Done", "all there")

    return operator


async def test_a_whole_life_uses_every_permission_that_owning_implies(cluster: Cluster) -> None:
    """Children are created and deleted, the status is written: this proves that the role is the least."""
    operator = _owner()
    options = ManagerOptions(election=ElectionOptions(name="owner", namespace="default", identity="a"))
    async with cluster.running(operator, options=options):
        task = await cluster.client.create(Task(meta("a"), JobSpec(copies=2)))
        await cluster.settle()
        await cluster.client.patch(task, {"spec": {"copies": 1}})
        await cluster.settle()
    assert len(cluster.list(ConfigMap, namespace="default")) == 1
    cluster.assert_rbac_minimal(operator)


async def test_an_implied_permission_can_be_declined(cluster: Cluster) -> None:
    """An operator that never deletes should not be able to."""
    operator = _owner()
    async with cluster.running(operator):
        await cluster.client.create(Task(meta("a"), JobSpec(copies=1)))
        await cluster.settle()
    with pytest.raises(
        AssertionError, match=r'delete configmaps was never used: .* operator.decline\(ConfigMap, "dele'
    ):
        cluster.assert_rbac_minimal(operator)
    operator.decline(ConfigMap, "delete")
    cluster.assert_rbac_minimal(operator)

    async def shrink() -> None:
        async with cluster.running(operator):
            await cluster.client.patch(cluster.list(Task)[0], {"spec": {"copies": 0}})
            await cluster.settle()

    with pytest.raises(AssertionError, match=r"delete configmaps in namespace default: add operator\.permit"):
        await shrink()


def test_a_permission_that_is_not_implied_cannot_be_declined() -> None:
    """A typo would look like safety."""
    operator = _owner()
    operator.decline(Pod, "delete")
    with pytest.raises(DeclarationError, match=r'decline\(Pod, "delete"\) removes a permission that is not needed'):
        grants_of(operator)


def test_permissions_for_watched_kinds_cannot_be_declined() -> None:
    """The operator would wait for its cache forever."""
    operator = _owner()
    operator.decline(ConfigMap, "watch")
    with pytest.raises(DeclarationError, match="a watched kind must be listed and watched"):
        grants_of(operator)


@pytest.mark.parametrize("verbs", [(), ("*",)])
def test_verbs_are_named_without_wildcards(verbs: tuple[str, ...]) -> None:
    """A wildcard grants what does not exist yet."""
    with pytest.raises(DeclarationError, match="needs verbs without wildcards"):
        Operator("greedy").permit(Pod, *verbs)


def test_a_subresource_is_permitted_by_its_name() -> None:
    """Logs, exec and evictions are separate permissions."""
    operator = Operator("logs")
    operator.permit(Pod, "get", subresource="log")
    (grant,) = grants_of(operator)
    assert (grant.group, grant.resource, grant.verbs) == ("", "pods/log", ("get",))


async def test_a_namespaced_operator_may_do_nothing_in_other_namespaces(cluster: Cluster) -> None:
    """Its role is in that namespace only; a write elsewhere is reported as such."""
    operator = Operator("local")

    @operator.reconciler(ConfigMap, owns=[Secret])
    async def reconcile(source: ConfigMap, ctx: Context[ConfigMap]) -> None:
        if source.name == "a":
            await ctx.apply(Secret(meta("a", "kube-system")), owned=False)

    with pytest.raises(AssertionError) as caught:
        await _live(cluster, operator, ManagerOptions(namespaces=("default",)))
    assert "get secrets in namespace kube-system: it looks only at default" in str(caught.value)


async def test_faults_apply_to_operators_as_to_the_client(cluster: Cluster) -> None:
    """An operator with its own account must stay within reach of the test."""
    async with cluster.running(_reader("get")):
        assert cluster.faults.count("GET", "/configmaps") > 0
        cluster.faults.clear()
        await cluster.client.create(ConfigMap(meta("a")))
        await cluster.settle()
        assert cluster.faults.count("GET", "/secrets/a") == 1


async def test_an_operator_that_did_not_run_has_nothing_to_compare(cluster: Cluster) -> None:
    """A test that forgot to run it would always pass."""
    with pytest.raises(LookupError, match="operator 'reader' did not run here"):
        cluster.assert_rbac_minimal(_reader())


async def test_an_apply_that_creates_an_object_needs_the_create_permission(cluster: Cluster) -> None:
    """As on a real server: patch alone is enough only for existing objects."""
    operator = Operator("applier")
    operator.permit(Secret, "get", "patch")

    @operator.reconciler(ConfigMap)
    async def reconcile(source: ConfigMap, ctx: Context[ConfigMap]) -> None:
        if source.namespace == "default":
            await ctx.apply(Secret(meta(source.name)), owned=False)

    with pytest.raises(
        AssertionError, match=r'create secrets in namespace default: add operator.permit\(Secret, "crea'
    ):
        await _live(cluster, operator)


async def test_a_client_of_another_account_does_not_count_for_the_operator(cluster: Cluster) -> None:
    """Tests act as users, too."""
    operator = _reader("get")
    async with cluster.running(operator):
        await cluster.client.create(ConfigMap(meta("a")))
        with pytest.raises(Forbidden):
            await cluster.client_as("eve").get(Pod, "a")
        await cluster.settle()
    cluster.assert_rbac_minimal(operator)
