"""Which operators of a cluster are asked, and what is said if one cannot be."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from steersman import meta
from steersman.cli.why.operators import ByteStream, NoOperatorAnswer, RunningOperator, operators_in_cluster
from steersman.errors import Forbidden, NotFound, SteersmanError
from steersman.kinds.core_v1 import Container, Pod, PodSpec
from steersman.testing import Cluster


async def _pod(cluster: Cluster, name: str, *, phase: str, labels: dict[str, str]) -> None:
    pod = Pod(meta(name, namespace="default", labels=labels), spec=PodSpec(containers=[Container(name="a", image="b")]))
    created = await cluster.client.create(pod)
    await cluster.client.status.patch(created, {"status": {"phase": phase}})


async def test_running_pods_of_deployed_operators_are_asked(cluster: Cluster) -> None:
    """Neither other pods, nor those that have not started or have ended."""
    ours = {"app.kubernetes.io/managed-by": "steer"}
    await _pod(cluster, "a", phase="Running", labels=ours)
    await _pod(cluster, "pending", phase="Pending", labels=ours)
    await _pod(cluster, "ended", phase="Succeeded", labels=ours)
    await _pod(cluster, "other", phase="Running", labels={})
    assert [one.place for one in await operators_in_cluster(cluster.client, None)] == ["pod default/a"]
    assert await operators_in_cluster(cluster.client, "kube-system") == []


@pytest.mark.parametrize(
    "error",
    [
        NotFound('nodes "gone" not found', code=404, reason="NotFound"),
        Forbidden('pods "a" is forbidden: cannot create resource "pods/portforward"', code=403, reason="Forbidden"),
    ],
)
async def test_a_pod_that_cannot_be_reached_is_named(error: SteersmanError) -> None:
    """The node is gone, or the user has no permission: other operators are still asked, so the sentence says which."""

    @asynccontextmanager
    async def connect() -> AsyncIterator[ByteStream]:
        raise error
        yield  # type: ignore[unreachable]  # what makes it a generator

    with pytest.raises(NoOperatorAnswer) as refused:
        await RunningOperator("pod ops/a", connect).overview()
    assert str(refused.value) == f"the operator at pod ops/a cannot be asked: {error}"
