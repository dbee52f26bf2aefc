"""The samples, and spotahome's own example, as the API server sees them."""

from pathlib import Path

import pytest
from steersman import Invalid, meta
from steersman.protocol.manifests import load_objects
from steersman.testing.cluster import Cluster

from redisfailover.api.redis_failover_v1 import RedisFailover, RedisFailoverSpec, SentinelSettings

SAMPLES = sorted((Path(__file__).parent.parent / "samples").glob("*.yaml"))


async def test_every_sample_is_accepted(cluster: Cluster) -> None:
    """A sample is the first thing that a user tries; basic.yaml is the example of spotahome's operator."""
    await cluster.install(RedisFailover)
    for sample in SAMPLES:
        for obj in load_objects(sample.read_bytes(), source=sample.name):
            await cluster.client.apply(obj)


async def test_nothing_need_be_said(cluster: Cluster) -> None:
    """Three servers and three sentinels, as with spotahome's."""
    await cluster.install(RedisFailover)
    await cluster.client.create(RedisFailover(meta("a", namespace="default"), RedisFailoverSpec()))
    [found] = cluster.list(RedisFailover)
    assert (found.spec.redis.replicas, found.spec.sentinel.replicas, found.spec.redis.port) == (3, 3, 6379)


async def test_an_even_number_of_sentinels_is_refused(cluster: Cluster) -> None:
    """It costs one more and survives no more."""
    await cluster.install(RedisFailover)
    spec = RedisFailoverSpec(sentinel=SentinelSettings(replicas=4))
    with pytest.raises(Invalid, match="must be odd"):
        await cluster.client.create(RedisFailover(meta("a", namespace="default"), spec))


async def test_a_long_name_is_refused(cluster: Cluster) -> None:
    """Names of services are built from it."""
    await cluster.install(RedisFailover)
    with pytest.raises(Invalid, match="48 characters"):
        await cluster.client.create(RedisFailover(meta("a" * 49, namespace="default"), RedisFailoverSpec()))
