"""Tests of what the API server accepts and rejects: samples, and objects like spotahome's examples."""

from pathlib import Path

import pytest
from steersman import Invalid, meta
from steersman.errors import BadRequest
from steersman.protocol import WriteOptions, load_objects
from steersman.testing import Cluster, apply_samples

from redisfailover.api.redis_failover_v1 import BootstrapNode, RedisFailover, RedisFailoverSpec, SentinelSettings
from redisfailover.looking import goal_of, unknown_fields
from redisfailover.observation import Address

STRICT = WriteOptions(field_validation="Strict")
SAMPLES = Path(__file__).parent.parent / "samples"
STRICT = WriteOptions(field_validation="Strict")


async def test_samples_use_only_fields_that_the_classes_declare(cluster: Cluster) -> None:
    """The schema of pod settings is open, so the server alone does not find a typo there; basic.yaml is spotahome's."""
    await cluster.install(RedisFailover)
    await apply_samples(cluster, SAMPLES)
    assert {one.name for one in cluster.list(RedisFailover)} == {"redisfailover", "persistent", "placed", "takeover"}
    assert [unknown_fields(one) for one in cluster.list(RedisFailover)] == [[], [], [], []]


@pytest.mark.parametrize("missing", ["command: [redis-server]", "shutdownConfigMap: a", "hostNetwork: true"])
async def test_what_is_not_supported_is_refused(cluster: Cluster, missing: str) -> None:
    """A field that is accepted and does nothing is found out in production."""
    await cluster.install(RedisFailover)
    head = "apiVersion: databases.spotahome.com/v1, kind: RedisFailover, metadata: {name: a}"
    text = f"{{{head}, spec: {{redis: {{{missing}}}}}}}"
    [wanted] = load_objects(text.encode(), source="test")
    with pytest.raises(BadRequest, match=f'unknown field "spec.redis.{missing.partition(":")[0]}"'):
        await cluster.client.create(wanted, options=STRICT)


async def test_there_may_be_no_spec(cluster: Cluster) -> None:
    """So spotahome's minimum asks for three of each."""
    await cluster.install(RedisFailover)
    text = b"{apiVersion: databases.spotahome.com/v1, kind: RedisFailover, metadata: {name: a}}"
    [wanted] = load_objects(text, source="test")
    await cluster.client.create(wanted, options=STRICT)
    [found] = cluster.list(RedisFailover)
    assert (found.spec.redis.replicas, found.spec.sentinel.replicas) == (3, 3)


@pytest.mark.parametrize("port", [6388, "6388"])
async def test_a_port_elsewhere_is_a_number_or_a_text(cluster: Cluster, port: int | str) -> None:
    """Spotahome's definition says text, its example writes a number."""
    await cluster.install(RedisFailover)
    spec = RedisFailoverSpec(bootstrap_node=BootstrapNode(host="10.0.0.9", port=port))
    created = await cluster.client.create(RedisFailover(meta("a", namespace="default"), spec), options=STRICT)
    assert goal_of(created, []).outside == Address("10.0.0.9", 6388)


@pytest.mark.parametrize("port", [0, 70000, "redis", ""])
async def test_a_port_elsewhere_that_is_none_is_refused(cluster: Cluster, port: int | str) -> None:
    """Before anybody waits for an answer."""
    await cluster.install(RedisFailover)
    spec = RedisFailoverSpec(bootstrap_node=BootstrapNode(host="10.0.0.9", port=port))
    with pytest.raises(Invalid, match=r"spec\.bootstrapNode\.port"):
        await cluster.client.create(RedisFailover(meta("a", namespace="default"), spec))


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
