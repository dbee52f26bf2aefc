"""The permissions needed to create custom objects by applying them."""

import pytest

from steersman import Forbidden, Model, Resource, Status, custom_resource, meta
from steersman.kinds.rbac_v1 import ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject
from steersman.testing.cluster import Cluster


class KiteSpec(Model):
    """An empty spec."""

    color: str = ""


@custom_resource("rbac-kites.example.com/v1")
class Kite(Resource[KiteSpec, Status]):
    """A custom kind to apply."""


async def allow(cluster: Cluster, *verbs: str) -> None:
    """Allow the account these verbs on kites."""
    rules = [PolicyRule(api_groups=["rbac-kites.example.com"], resources=["kites"], verbs=list(verbs))]
    await cluster.client.apply(ClusterRole(meta("kites"), rules=rules), force=True)
    role = RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name="kites")
    account = Subject(kind="ServiceAccount", name="robot", namespace="default")
    await cluster.client.apply(ClusterRoleBinding(meta("kites"), role_ref=role, subjects=[account]), force=True)


async def test_an_apply_that_creates_a_custom_object_needs_the_create_permission(cluster: Cluster) -> None:
    """As for built-in kinds: otherwise an operator's role would pass its tests and fail in a cluster."""
    await cluster.install(Kite)
    robot = cluster.client_of_account("default", "robot")
    await allow(cluster, "get", "patch")
    with pytest.raises(Forbidden, match='cannot create resource "kites"'):
        await robot.apply(Kite(meta("a"), KiteSpec(color="red")))
    await allow(cluster, "get", "patch", "create")
    await robot.apply(Kite(meta("a"), KiteSpec(color="red")))
    await allow(cluster, "get", "patch")
    changed = await robot.apply(Kite(meta("a"), KiteSpec(color="blue")))
    assert changed.spec.color == "blue"
