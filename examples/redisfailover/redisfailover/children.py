"""The objects that a RedisFailover owns, named as spotahome's operator names them: pure functions.

Every server starts as a replica of itself: it has no master and does not act as one until the operator decides. So a
server that restarts with an empty disk never replicates the empty data set to others.
"""

from steersman import meta
from steersman.kinds.apps_v1 import Deployment, DeploymentSpec, StatefulSet, StatefulSetSpec, StatefulSetUpdateStrategy
from steersman.kinds.apps_v1 import StatefulSetPersistentVolumeClaimRetentionPolicy as Retention
from steersman.kinds.core_v1 import ConfigMap, PersistentVolumeClaim, Service, ServicePort, ServiceSpec
from steersman.kinds.meta_v1 import LabelSelector
from steersman.kinds.policy_v1 import PodDisruptionBudget, PodDisruptionBudgetSpec
from steersman.objects import KubeObject

from redisfailover.api.pod_settings import PodSettings
from redisfailover.api.redis_failover_v1 import RedisFailover
from redisfailover.names import (
    ROLE,
    SENTINEL_PORT,
    labels_of,
    master_service,
    redis_name,
    replica_service,
    sentinel_name,
)
from redisfailover.pods import redis_pod, sentinel_pod
from redisfailover.settings import redis_conf


def services_of(failover: RedisFailover) -> list[KubeObject]:
    """Return the Services, the PodDisruptionBudgets and the ConfigMap of the sentinels."""
    name, port = failover.name, failover.spec.redis.port
    redis, sentinel = labels_of(name, "redis"), labels_of(name, "sentinel")
    return [
        _service(master_service(name), failover.spec.redis, port, {**redis, ROLE: "master"}),
        _service(replica_service(name), failover.spec.redis, port, {**redis, ROLE: "slave"}),
        _service(sentinel_name(name), failover.spec.sentinel, SENTINEL_PORT, sentinel),
        _budget(redis_name(name), failover.spec.redis.replicas, redis),
        _budget(sentinel_name(name), failover.spec.sentinel.replicas, sentinel),
        ConfigMap(meta(sentinel_name(name), labels=sentinel), data={"sentinel.conf": f"port {SENTINEL_PORT}\n"}),
    ]


def config_map_of(failover: RedisFailover) -> ConfigMap:
    """Return the ConfigMap that servers read at their start."""
    data = {"redis.conf": redis_conf(failover.spec.redis.custom_config)}
    return ConfigMap(meta(redis_name(failover.name), labels=labels_of(failover.name, "redis")), data=data)


def stateful_set_of(failover: RedisFailover) -> StatefulSet:
    """Return the StatefulSet of the servers. The operator replaces its pods, because it knows which one is master."""
    name, redis = redis_name(failover.name), failover.spec.redis
    labels = labels_of(failover.name, "redis")
    claim = redis.storage.persistent_volume_claim
    data = claim.metadata.name if claim is not None else "redis-data"
    when_deleted = "Retain" if redis.storage.keep_after_deletion else "Delete"
    return StatefulSet(
        meta(name, labels=labels),
        spec=StatefulSetSpec(
            replicas=redis.replicas,
            service_name=name,
            selector=LabelSelector(match_labels=labels),
            pod_management_policy="Parallel",
            update_strategy=StatefulSetUpdateStrategy(type="OnDelete"),
            template=redis_pod(failover, data),
            volume_claim_templates=[PersistentVolumeClaim(meta(data), spec=claim.spec)] if claim else None,
            persistent_volume_claim_retention_policy=Retention(when_deleted=when_deleted, when_scaled="Retain"),
        ),
    )


def deployment_of(failover: RedisFailover) -> Deployment:
    """Return the Deployment of the sentinels."""
    labels = labels_of(failover.name, "sentinel")
    return Deployment(
        meta(sentinel_name(failover.name), labels=labels),
        spec=DeploymentSpec(
            replicas=failover.spec.sentinel.replicas,
            selector=LabelSelector(match_labels=labels),
            template=sentinel_pod(failover),
        ),
    )


def _service(name: str, settings: PodSettings, port: int, selector: dict[str, str]) -> Service:
    ports = [ServicePort(name=selector["app.kubernetes.io/component"], port=port, target_port=port)]
    return Service(
        meta(name, labels=selector, annotations=settings.service_annotations or {}),
        spec=ServiceSpec(ports=ports, selector=selector),
    )


def _budget(name: str, replicas: int, labels: dict[str, str]) -> PodDisruptionBudget:
    # As spotahome's operator does: two must stay available if there are more than two, otherwise one.
    spec = PodDisruptionBudgetSpec(
        min_available=min(2, max(replicas - 1, 1)), selector=LabelSelector(match_labels=labels)
    )
    return PodDisruptionBudget(meta(name, labels=labels), spec=spec)
