"""A proposed manifest does what `kubectl apply` would do with it, also to fields that it no longer has."""

import json

import pytest

from steersman import Context, GroupVersionKind, Model, Operator, Resource, Status, Unstructured, custom_resource
from steersman.apiserver.builtin.strategic_merge import apply_strategic_merge_patch
from steersman.apiserver.builtin.types import definition_of, load_types
from steersman.json_types import JsonObject
from steersman.planning import Plan, PlanOptions
from steersman.planning.proposal import three_way_patch
from steersman.protocol.patches import apply_merge_patch
from steersman.testing import Cluster

_ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"


class ShopSpec(Model):
    """What is wanted."""

    replicas: int | None = None
    message: str | None = None
    image: str | None = None


@custom_resource("proposal.example.com/v1")
class Shop(Resource[ShopSpec, Status]):
    """A shop."""


def shop(annotation: JsonObject | None = None, **spec: object) -> JsonObject:
    """Return a manifest of a shop, with the annotation of an earlier `kubectl apply`."""
    annotations = {} if annotation is None else {"annotations": {_ANNOTATION: json.dumps(annotation)}}
    metadata = {"name": "a", "namespace": "default", **annotations}
    return {"apiVersion": "proposal.example.com/v1", "kind": "Shop", "metadata": metadata, "spec": spec}


async def proposed(cluster: Cluster, *documents: JsonObject) -> Plan:
    """Return the plan of an operator that does nothing."""
    operator = Operator("shops")

    @operator.reconciler(Shop)
    async def reconcile(_shop: Shop, _ctx: Context[Shop]) -> None:
        pass

    return await cluster.plan(operator, options=PlanOptions(proposed=documents))


@pytest.mark.parametrize("side", ["server", "client"])
async def test_a_field_that_the_manifest_no_longer_has_is_removed(cluster: Cluster, side: str) -> None:
    """A plan that misses it shows less than what is about to be applied, however it was applied before."""
    await cluster.install(Shop)
    earlier = shop(replicas=2, message="hi", image="shop:1")
    if side == "server":
        await cluster.client.as_manager("kubectl").apply(Unstructured(earlier))
    else:
        await cluster.client.create(Unstructured(shop(earlier, replicas=2, message="hi", image="shop:1")))
    plan = await proposed(cluster, shop(replicas=2, message="hello"))
    [change] = plan.proposed
    assert sorted(map(str, change.fields)) == ["spec.image shop:1 → removed", "spec.message hi → hello"]


async def test_fields_that_another_client_has_set_stay(cluster: Cluster) -> None:
    """The manifest never had them: neither kind of apply removes them."""
    await cluster.install(Shop)
    await cluster.client.as_manager("someone").apply(Unstructured(shop(replicas=2, message="hi")))
    plan = await proposed(cluster, shop(replicas=3))
    [change] = plan.proposed
    assert list(map(str, change.fields)) == ["spec.replicas 2 → 3"]


async def test_a_manifest_that_was_applied_before_changes_nothing(cluster: Cluster) -> None:
    """Of a manifest without annotations, kubectl keeps an empty map; those of other clients stay, such as a pause."""
    await cluster.install(Shop)
    earlier = shop(replicas=2)
    earlier["metadata"]["annotations"] = {}
    live = shop(earlier, replicas=2)
    live["metadata"]["annotations"]["steersman.dev/paused"] = "true"
    await cluster.client.create(Unstructured(live))
    plan = await proposed(cluster, shop(replicas=2))
    assert plan.proposed == ()


def test_a_custom_kind_has_a_merge_patch() -> None:
    """Lists are replaced, fields of others stay, and what was applied before is removed at every level."""
    applied = {"spec": {"a": 1, "b": {"c": 1, "d": 2}, "l": [1]}}
    wanted = {"spec": {"b": {"c": 2}, "l": [2]}}
    live = {"spec": {"a": 1, "b": {"c": 1, "d": 2, "mine": 3}, "l": [1]}, "status": {"ok": True}}
    after = apply_merge_patch(live, three_way_patch(applied, wanted, {}))
    assert after == {"spec": {"b": {"c": 2, "mine": 3}, "l": [2]}, "status": {"ok": True}}


def test_a_built_in_kind_has_a_strategic_merge_patch() -> None:
    """Items of merged lists are removed by their keys, and items that another writer has added stay."""

    def deployment(containers: list[JsonObject], finalizers: list[str], **spec: object) -> JsonObject:
        return {
            "metadata": {"finalizers": finalizers},
            "spec": {"template": {"spec": {"containers": containers}}, **spec},
        }

    one, two = {"name": "one", "image": "one:1", "tty": True}, {"name": "two", "image": "two:1"}
    sidecar = {"name": "sidecar", "image": "mesh"}
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}
    gvk = GroupVersionKind("apps", "v1", "Deployment")
    applied = deployment([one, two], ["a/b", "c/d"], strategy=rolling, replicas=1)
    wanted = deployment([{"name": "one", "image": "one:2"}], ["a/b"], strategy={"type": "Recreate"})
    live = deployment([one, two, sidecar], ["a/b", "c/d", "e/f"], strategy=rolling, replicas=1)
    patch = three_way_patch(applied, wanted, load_types()[definition_of(gvk)])
    after = apply_strategic_merge_patch(live, patch, gvk)
    left = [{"name": "one", "image": "one:2"}, sidecar]
    assert after == deployment(left, ["a/b", "e/f"], strategy={"type": "Recreate"})
