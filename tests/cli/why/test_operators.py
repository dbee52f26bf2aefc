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
    ("error", "reason"),
    [
        (
            NotFound('nodes "gone" not found', code=404, reason="NotFound"),
            'the operator at pod ops/a cannot be asked: nodes "gone" not found',
        ),
        (
            Forbidden('pods "a" is forbidden: cannot create resource "pods/portforward"', code=403, reason="Forbidden"),
            (
                "you have no permission to forward ports in namespace ops (`get` and `create` on pods/portforward), "
                "by which the operator is asked"
            ),
        ),
    ],
)
async def test_a_pod_that_cannot_be_reached_is_one_sentence(error: SteersmanError, reason: str) -> None:
    """A lack of permission is about all pods of a namespace: two replicas are not two sentences."""

    @asynccontextmanager
    async def connect() -> AsyncIterator[ByteStream]:
        raise error
        yield  # type: ignore[unreachable]  # what makes it a generator

    with pytest.raises(NoOperatorAnswer) as raised:
        await RunningOperator("pod ops/a", connect, "ops").overview()
    assert str(raised.value) == reason
