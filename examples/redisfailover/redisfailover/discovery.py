"""Read from Kubernetes objects what is known of servers and sentinels before they are queried: pure functions."""

from datetime import datetime

from steersman import Condition
from steersman.kinds.apps_v1 import StatefulSet
from steersman.kinds.core_v1 import ContainerStatus, Pod
from steersman.objects import bytes_read, decode_json, to_json
from steersman.schema import lost_fields

from redisfailover.api.redis_failover_v1 import RedisFailover
from redisfailover.names import ROLE, SENTINEL_PORT
from redisfailover.observation import Address, Goal, RedisNode, SentinelNode
from redisfailover.settings import parse_settings, split_write_quorum

_REVISION = "controller-revision-hash"


def unknown_fields(failover: RedisFailover) -> list[str]:
    """Return the fields of a spec that the classes do not declare; the API server accepts them in open schemas."""
    read = bytes_read(failover)
    lost = lost_fields(decode_json(read), to_json(failover), RedisFailover) if read is not None else []
    return [path.removeprefix(".") for path in lost if path.startswith(".spec.")]


def goal_of(failover: RedisFailover, pods: list[Pod]) -> Goal:
    """Return the goal. A master whose ordinal is beyond the wanted replicas stays until another one has taken over."""
    spec, external = failover.spec, failover.spec.bootstrap_node
    masters = [_ordinal(pod) + 1 for pod in pods if pod.labels.get(ROLE) == "master"]
    return Goal(
        replicas=max([spec.redis.replicas, *masters]),
        final_replicas=spec.redis.replicas,
        sentinels=spec.sentinel.replicas,
        external_master=Address(external.host, int(external.port)) if external else None,
        watches_external=external is not None and external.allow_sentinels,
        write_quorum=split_write_quorum(parse_settings(spec.redis.custom_config))[1],
    )


def redis_node(pod: Pod, stateful_set: StatefulSet, port: int) -> RedisNode:
    """Return what the pod of a server shows."""
    status = stateful_set.status
    problem = _problem(pod)
    is_known = status.observed_generation == stateful_set.generation and bool(status.update_revision)
    return RedisNode(
        pod=pod.name,
        address=_address(pod, port),
        is_current=not is_known or pod.labels.get(_REVISION) == status.update_revision,
        is_stuck=bool(problem) and not pod.is_deleting and bool(pod.status.container_statuses),
        problem=problem,
    )


def sentinel_node(pod: Pod) -> SentinelNode:
    """Return what the pod of a sentinel shows."""
    return SentinelNode(pod=pod.name, uid=pod.uid, address=_address(pod, SENTINEL_PORT))


def seconds_since(condition: Condition | None, statuses: set[str], now: datetime) -> float:
    """Return for how many seconds a condition has had one of the statuses; 0 if it has another one."""
    if condition is None or condition.status not in statuses or condition.last_transition_time is None:
        return 0.0
    return (now - condition.last_transition_time).total_seconds()


def _ordinal(pod: Pod) -> int:
    return int(pod.name.rpartition("-")[2])


def _address(pod: Pod, port: int) -> Address | None:
    """Return the address of a pod; ``None`` if it has none yet or is being deleted."""
    if pod.is_deleting or not pod.status.pod_ip:
        return None
    return Address(pod.status.pod_ip, port)


def _problem(pod: Pod) -> str:
    if pod.is_deleting:
        return "is being deleted"
    statuses = [one for one in pod.status.container_statuses or [] if one.name == "redis"]
    return _waiting(statuses[0]) if statuses else "its pod has not started"


def _waiting(status: ContainerStatus) -> str:
    """Return why a container does not run, with its last output if it left some."""
    if status.state is None or status.state.running is not None:
        return ""
    ended = status.state.terminated or (status.last_state.terminated if status.last_state else None)
    words = (ended.message or "").strip().splitlines()[-3:] if ended else []
    reason = status.state.waiting.reason if status.state.waiting else "it ended"
    return f"{reason or 'waits'}: {' '.join(words)}" if words else reason or "waits"
