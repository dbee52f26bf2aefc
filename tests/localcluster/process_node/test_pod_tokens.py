"""Tokens in volumes: they are renewed before they expire, and kept while that fails."""

from steersman.kinds.core_v1 import Container, Pod, PodSpec
from steersman.localcluster.process_node.pod_tokens import PodTokens
from steersman.objects.meta import meta
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock


async def created(cluster: Cluster) -> tuple[Pod, Container]:
    """Create a pod; return it and its container, as the server completed them."""
    pod = Pod(meta("p", namespace="default"), spec=PodSpec(containers=[Container(name="c", image="i")]))
    made = await cluster.client.create(pod)
    return made, made.spec.containers[0]


async def test_a_token_is_renewed_when_most_of_its_life_is_over(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A program that reads the file again never finds an expired token there."""
    pod, container = await created(cluster)
    tokens = PodTokens(cluster.client, fake_clock)
    first = await tokens.request(pod, container)
    due = tokens.due(["c"])
    assert due is not None
    assert due - fake_clock.monotonic() == 3607 * 0.8
    assert await tokens.renew(pod, [container]) == []
    await fake_clock.advance(3607 * 0.8)
    assert await tokens.renew(pod, [container]) == [container]
    assert tokens.of("c").keys() == first.keys()
    assert tokens.of("c") != first


async def test_a_token_that_cannot_be_renewed_is_kept(cluster: Cluster, fake_clock: FakeClock) -> None:
    """The token is valid for some time, and a failed request says little about the next one."""
    pod, container = await created(cluster)
    tokens = PodTokens(cluster.client, fake_clock)
    first = await tokens.request(pod, container)
    await cluster.client.delete(pod)
    await fake_clock.advance(3600)
    assert await tokens.renew(pod, [container]) == []
    assert tokens.of("c") == first
    due = tokens.due(["c"])
    assert due is not None
    assert due > fake_clock.monotonic()


async def test_a_container_that_ended_needs_no_tokens(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A finished container must not keep its node awake."""
    pod, container = await created(cluster)
    tokens = PodTokens(cluster.client, fake_clock)
    await tokens.request(pod, container)
    assert tokens.due([]) is None
    await fake_clock.advance(3600)
    assert await tokens.renew(pod, []) == []
