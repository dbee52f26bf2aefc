"""Random statuses of kinds in scenarios, most of them valid."""

from typing import Any

from tests.contract.difference.choices import Choices

Document = dict[str, Any]
_TIMES = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")


def _conditions(rng: Choices, kinds: list[str], *, full: bool = False) -> list[Document]:
    made = []
    for kind in rng.some(kinds):
        condition: Document = {"type": kind, "status": rng.pick("True", "False", "Unknown")}
        rng.maybe(condition, 0.5, reason=lambda: rng.pick("R", "S"), message=lambda: rng.pick("m", ""))
        if full or rng.chance(0.3):
            condition["lastTransitionTime"] = rng.of(_TIMES)
            condition.setdefault("reason", "R")
            condition.setdefault("message", "")
        made.append(condition)
    return made


def _counts(rng: Choices, *names: str) -> Document:
    return {name: rng.pick(0, 1, 2, 3, -1) if rng.chance(0.2) else rng.number(0, 3) for name in rng.some(names)}


def deployment_status(rng: Choices) -> Document:
    """Return the status of a Deployment."""
    status = _counts(rng, "replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas")
    rng.maybe(
        status,
        0.3,
        observedGeneration=lambda: rng.number(-1, 3),
        conditions=lambda: _conditions(rng, ["Available", "Progressing", "ReplicaFailure"]),
        collisionCount=lambda: rng.number(0, 2),
        terminatingReplicas=lambda: rng.number(0, 2),
    )
    return status


def replica_set_status(rng: Choices) -> Document:
    """Return the status of a ReplicaSet."""
    status = {"replicas": rng.number(0, 3)} | _counts(rng, "fullyLabeledReplicas", "readyReplicas", "availableReplicas")
    rng.maybe(
        status,
        0.3,
        observedGeneration=lambda: rng.number(-1, 3),
        conditions=lambda: _conditions(rng, ["ReplicaFailure"]),
    )
    return status


def stateful_set_status(rng: Choices) -> Document:
    """Return the status of a StatefulSet."""
    status = {"replicas": rng.number(0, 3)} | _counts(
        rng, "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"
    )
    rng.maybe(
        status,
        0.3,
        observedGeneration=lambda: rng.number(-1, 3),
        currentRevision=lambda: rng.pick("r-1", "r-2"),
        updateRevision=lambda: rng.pick("r-1", "r-2"),
        collisionCount=lambda: rng.number(-1, 2),
        conditions=lambda: _conditions(rng, ["Ready"]),
    )
    return status


def daemon_set_status(rng: Choices) -> Document:
    """Return the status of a DaemonSet."""
    status = {"currentNumberScheduled": 1, "numberMisscheduled": 0, "desiredNumberScheduled": 1, "numberReady": 1}
    status |= _counts(rng, "updatedNumberScheduled", "numberAvailable", "numberUnavailable", "numberReady")
    rng.maybe(
        status,
        0.3,
        observedGeneration=lambda: rng.number(-1, 3),
        collisionCount=lambda: rng.number(-1, 2),
        conditions=lambda: _conditions(rng, ["Odd"]),
    )
    return status


def cron_job_status(rng: Choices) -> Document:
    """Return the status of a CronJob."""
    status: Document = {}
    rng.maybe(
        status,
        0.5,
        lastScheduleTime=lambda: rng.of(_TIMES),
        lastSuccessfulTime=lambda: rng.of(_TIMES),
        active=lambda: [{"kind": "Job", "name": name, "apiVersion": "batch/v1"} for name in rng.some(["j", "k"])],
    )
    return status


def claim_status(rng: Choices) -> Document:
    """Return the status of a PersistentVolumeClaim."""
    status: Document = {}
    rng.maybe(
        status,
        0.5,
        phase=lambda: rng.pick("Pending", "Bound", "Lost"),
        accessModes=lambda: rng.some(["ReadWriteOnce", "ReadOnlyMany"]),
        capacity=lambda: {"storage": rng.pick("1Gi", "1024Mi", "-1", "2G")},
        conditions=lambda: _conditions(rng, ["Resizing", "FileSystemResizePending"]),
    )
    return status


def service_status(rng: Choices) -> Document:
    """Return the status of a Service."""
    ingress: list[Document] = []
    for address in rng.some([{"ip": "10.9.9.9"}, {"hostname": "h.dev"}, {"ip": "x"}], 0, 2):
        entry: Document = dict(address)
        rng.maybe(
            entry,
            0.2,
            ipMode=lambda: rng.pick("VIP", "Proxy", "Odd"),
            ports=lambda: [{"port": rng.pick(80, 0), "protocol": rng.pick("TCP", "UDP")}],
        )
        ingress.append(entry)
    status: Document = {"loadBalancer": {"ingress": ingress} if ingress else {}}
    rng.maybe(status, 0.3, conditions=lambda: _conditions(rng, ["Ready", "Odd"], full=rng.chance(0.8)))
    return status


def ingress_status(rng: Choices) -> Document:
    """Return the status of an Ingress."""
    ingress: list[Document] = []
    for address in rng.some([{"ip": "10.9.9.9"}, {"hostname": "h.dev"}, {"ip": "x"}], 0, 2):
        entry: Document = dict(address)
        rng.maybe(entry, 0.2, ports=lambda: [{"port": rng.pick(80, 0), "protocol": rng.pick("TCP", "UDP")}])
        ingress.append(entry)
    return {"loadBalancer": {"ingress": ingress} if ingress else {}}


def disruption_budget_status(rng: Choices) -> Document:
    """Return the status of a PodDisruptionBudget."""
    status: Document = {"disruptionsAllowed": 1, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
    status |= _counts(rng, "disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    rng.maybe(
        status,
        0.3,
        observedGeneration=lambda: rng.number(-1, 3),
        disruptedPods=lambda: {name: rng.of(_TIMES) for name in rng.some(["p", "q"])},
        conditions=lambda: _conditions(rng, ["DisruptionAllowed"], full=rng.chance(0.8)),
    )
    return status


def autoscaler_status(rng: Choices) -> Document:
    """Return the status of a HorizontalPodAutoscaler."""
    status: Document = {"desiredReplicas": rng.number(-1, 3)}
    rng.maybe(
        status,
        0.3,
        currentReplicas=lambda: rng.number(-1, 3),
        observedGeneration=lambda: rng.number(0, 3),
        lastScaleTime=lambda: rng.of(_TIMES),
        conditions=lambda: _conditions(rng, ["AbleToScale", "ScalingActive"]),
        currentMetrics=lambda: [
            {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 5, "averageValue": "1"}}}
        ],
    )
    return status


def quota_status(rng: Choices) -> Document:
    """Return the status of a ResourceQuota."""
    status: Document = {}
    names = ["count/as.x.dev", "cpu", "pods", "bad name"]
    rng.maybe(
        status,
        0.5,
        hard=lambda: {name: rng.pick("1", "2", "-1") for name in rng.some(names[:3])},
        used=lambda: {name: rng.pick("0", "1", "500m") for name in rng.some(names)},
    )
    return status
