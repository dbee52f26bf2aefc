"""Tests of what the API server accepts and rejects: samples, and objects like spotahome's examples."""

from pathlib import Path

import pytest
from steersman import Invalid, meta
from steersman.errors import BadRequest
from steersman.protocol import WriteOptions, load_objects
from steersman.testing import Cluster, apply_samples

from redisfailover.api.redis_failover_v1 import BootstrapNode, RedisFailover, RedisFailoverSpec, SentinelSettings
from redisfailover.discovery import goal_of, unknown_fields
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
async def test_an_unsupported_field_is_rejected(cluster: Cluster, missing: str) -> None:
    """A field that is accepted without any effect would be noticed only in production."""
    await cluster.install(RedisFailover)
    head = "apiVersion: databases.spotahome.com/v1, kind: RedisFailover, metadata: {name: a}"
    text = f"{{{head}, spec: {{redis: {{{missing}}}}}}}"
    [wanted] = load_objects(text.encode(), source="test")
    with pytest.raises(BadRequest, match=f'unknown field "spec.redis.{missing.partition(":")[0]}"'):
        await cluster.client.create(wanted, options=STRICT)


async def test_a_spec_is_optional(cluster: Cluster) -> None:
    """The minimal example of spotahome has none and gets three of each."""
    await cluster.install(RedisFailover)
    text = b"{apiVersion: databases.spotahome.com/v1, kind: RedisFailover, metadata: {name: a}}"
    [wanted] = load_objects(text, source="test")
    await cluster.client.create(wanted, options=STRICT)
    [found] = cluster.list(RedisFailover)
    assert (found.spec.redis.replicas, found.spec.sentinel.replicas) == (3, 3)


@pytest.mark.parametrize("port", [6388, "6388"])
async def test_the_port_of_a_bootstrap_node_is_a_number_or_a_string(cluster: Cluster, port: int | str) -> None:
    """Spotahome's CRD declares a string, its example has a number."""
    await cluster.install(RedisFailover)
    spec = RedisFailoverSpec(bootstrap_node=BootstrapNode(host="10.0.0.9", port=port))
    created = await cluster.client.create(RedisFailover(meta("a", namespace="default"), spec), options=STRICT)
    assert goal_of(created, []).external_master == Address("10.0.0.9", 6388)


@pytest.mark.parametrize("port", [0, 70000, "redis", ""])
async def test_an_invalid_port_of_a_bootstrap_node_is_rejected(cluster: Cluster, port: int | str) -> None:
    """Otherwise the operator would wait for a server that cannot exist."""
    await cluster.install(RedisFailover)
    spec = RedisFailoverSpec(bootstrap_node=BootstrapNode(host="10.0.0.9", port=port))
    with pytest.raises(Invalid, match=r"spec\.bootstrapNode\.port"):
        await cluster.client.create(RedisFailover(meta("a", namespace="default"), spec))


async def test_every_field_has_a_default(cluster: Cluster) -> None:
    """The defaults are three servers and three sentinels, the same as spotahome's."""
    await cluster.install(RedisFailover)
    await cluster.client.create(RedisFailover(meta("a", namespace="default"), RedisFailoverSpec()))
    [found] = cluster.list(RedisFailover)
    assert (found.spec.redis.replicas, found.spec.sentinel.replicas, found.spec.redis.port) == (3, 3, 6379)


async def test_an_even_number_of_sentinels_is_rejected(cluster: Cluster) -> None:
    """It costs one sentinel more and tolerates no more failures."""
    await cluster.install(RedisFailover)
    spec = RedisFailoverSpec(sentinel=SentinelSettings(replicas=4))
    with pytest.raises(Invalid, match="must be odd"):
        await cluster.client.create(RedisFailover(meta("a", namespace="default"), spec))


async def test_a_long_name_is_rejected(cluster: Cluster) -> None:
    """Names of Services are derived from it."""
    await cluster.install(RedisFailover)
    with pytest.raises(Invalid, match="48 characters"):
        await cluster.client.create(RedisFailover(meta("a" * 49, namespace="default"), RedisFailoverSpec()))
