"""What the oracles say: an orphan is named, and what a correct operator cannot avoid is not blamed."""

import pytest

from steersman import Context, Model, Operator, Resource, Status, custom_resource, meta
from steersman.client.interfaces import Ref
from steersman.controller.triggers import Watch
from steersman.kinds.core_v1 import ConfigMap, Secret
from steersman.simulation import simulate
from steersman.simulation.faults.kinds import KINDS
from steersman.testing import Cluster

FINALIZER = "oracles.example.com/held"


class AccountSpec(Model):
    """The desired state."""

    secret: str = "password"


@custom_resource("oracles.example.com/v1")
class Account(Resource[AccountSpec, Status]):
    """A login whose password is in a Secret of the user."""


def account_with_secret() -> Operator:
    """Return an operator that writes what it knows now, and mends that when the Secret appears."""
    operator = Operator("accounts")

    @operator.reconciler(Account, owns=[ConfigMap], watches=[Watch(Secret, lambda _: ["default/a"])])
    async def reconcile(account: Account, ctx: Context[Account]) -> None:
        found = await ctx.get(Secret, account.spec.secret, "default")
        await ctx.apply(ConfigMap(meta("login"), data={"locked": "no" if found is not None else "yes"}))

    return operator


async def secret_and_account(cluster: Cluster) -> None:
    """Create a Secret and what refers to it at once, as `kubectl apply` of one file does."""
    await cluster.client.create(Secret(meta("password"), string_data={"password": "s3cret"}))
    await cluster.client.create(Account(meta("a")))
    await cluster.settle()


def test_an_update_that_an_interrupted_watch_costs_is_no_alarm() -> None:
    """The other watch goes on meanwhile, so the operator sees an account without its Secret; it cannot know better."""
    watches = [name for name, kind in KINDS.items() if kind.number in {"F5", "F6"}]
    report = simulate(account_with_secret, secret_and_account, faults=watches)
    report.raise_if_failed()
    assert len(report.tried) > len(watches)


def holding() -> Operator:
    """Return an operator whose part has a finalizer that it never removes."""
    operator = Operator("holding")

    @operator.reconciler(Account, owns=[ConfigMap])
    async def reconcile(account: Account, ctx: Context[Account]) -> None:
        await ctx.apply(ConfigMap(meta(f"{account.name}-held", finalizers=[FINALIZER])))

    return operator


async def created_and_deleted(cluster: Cluster) -> None:
    """Create an account and delete it."""
    account = await cluster.client.create(Account(meta("a")))
    await cluster.settle()
    await cluster.client.delete(account)
    await cluster.settle()


def test_an_object_that_outlives_its_owner_is_named_without_any_fault() -> None:
    """Nothing else would notice: every run ends with the same orphan."""
    with pytest.raises(AssertionError, match="O8: ConfigMap default/a-held outlives its owner"):
        simulate(holding, created_and_deleted, faults="restart")


def test_an_owner_that_was_there_before_the_scenario_is_present() -> None:
    """An object may belong to one that no run creates, such as a namespace."""

    async def owned_by_a_namespace(cluster: Cluster) -> None:
        namespace = cluster.server.objects.store.get("namespaces", "", "default")
        assert namespace is not None
        owner = {"apiVersion": "v1", "kind": "Namespace", "name": "default", "uid": namespace.uid}
        child = ConfigMap(meta("child"))
        await cluster.client.create(child)
        await cluster.client.patch(Ref(ConfigMap, "child", "default"), {"metadata": {"ownerReferences": [owner]}})
        await cluster.settle()

    simulate(account_with_secret, owned_by_a_namespace, faults="restart").raise_if_failed()
