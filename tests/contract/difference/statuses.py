"""What kinds say of themselves, in stories: right most of the time."""

from typing import Any

from tests.contract.difference.dice import Dice

Document = dict[str, Any]
_TIMES = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")


def _conditions(dice: Dice, kinds: list[str], *, full: bool = False) -> list[Document]:
    made = []
    for kind in dice.some(kinds):
        condition: Document = {"type": kind, "status": dice.pick("True", "False", "Unknown")}
        dice.maybe(condition, 0.5, reason=lambda: dice.pick("R", "S"), message=lambda: dice.pick("m", ""))
        if full or dice.chance(0.3):
            condition["lastTransitionTime"] = dice.of(_TIMES)
            condition.setdefault("reason", "R")
            condition.setdefault("message", "")
        made.append(condition)
    return made


def _counts(dice: Dice, *names: str) -> Document:
    return {name: dice.pick(0, 1, 2, 3, -1) if dice.chance(0.2) else dice.number(0, 3) for name in dice.some(names)}


def deployment_status(dice: Dice) -> Document:
    """Give the status of a Deployment."""
    status = _counts(dice, "replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas")
    dice.maybe(
        status,
        0.3,
        observedGeneration=lambda: dice.number(-1, 3),
        conditions=lambda: _conditions(dice, ["Available", "Progressing", "ReplicaFailure"]),
        collisionCount=lambda: dice.number(0, 2),
        terminatingReplicas=lambda: dice.number(0, 2),
    )
    return status


def replica_set_status(dice: Dice) -> Document:
    """Give the status of a ReplicaSet."""
    status = {"replicas": dice.number(0, 3)} | _counts(
        dice, "fullyLabeledReplicas", "readyReplicas", "availableReplicas"
    )
    dice.maybe(
        status,
        0.3,
        observedGeneration=lambda: dice.number(-1, 3),
        conditions=lambda: _conditions(dice, ["ReplicaFailure"]),
    )
    return status


def stateful_set_status(dice: Dice) -> Document:
    """Give the status of a StatefulSet."""
    status = {"replicas": dice.number(0, 3)} | _counts(
        dice, "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"
    )
    dice.maybe(
        status,
        0.3,
        observedGeneration=lambda: dice.number(-1, 3),
        currentRevision=lambda: dice.pick("r-1", "r-2"),
        updateRevision=lambda: dice.pick("r-1", "r-2"),
        collisionCount=lambda: dice.number(-1, 2),
        conditions=lambda: _conditions(dice, ["Ready"]),
    )
    return status


def daemon_set_status(dice: Dice) -> Document:
    """Give the status of a DaemonSet."""
    status = {"currentNumberScheduled": 1, "numberMisscheduled": 0, "desiredNumberScheduled": 1, "numberReady": 1}
    status |= _counts(dice, "updatedNumberScheduled", "numberAvailable", "numberUnavailable", "numberReady")
    dice.maybe(
        status,
        0.3,
        observedGeneration=lambda: dice.number(-1, 3),
        collisionCount=lambda: dice.number(-1, 2),
        conditions=lambda: _conditions(dice, ["Odd"]),
    )
    return status


def cron_job_status(dice: Dice) -> Document:
    """Give the status of a CronJob."""
    status: Document = {}
    dice.maybe(
        status,
        0.5,
        lastScheduleTime=lambda: dice.of(_TIMES),
        lastSuccessfulTime=lambda: dice.of(_TIMES),
        active=lambda: [{"kind": "Job", "name": name, "apiVersion": "batch/v1"} for name in dice.some(["j", "k"])],
    )
    return status


def claim_status(dice: Dice) -> Document:
    """Give the status of a PersistentVolumeClaim."""
    status: Document = {}
    dice.maybe(
        status,
        0.5,
        phase=lambda: dice.pick("Pending", "Bound", "Lost"),
        accessModes=lambda: dice.some(["ReadWriteOnce", "ReadOnlyMany"]),
        capacity=lambda: {"storage": dice.pick("1Gi", "1024Mi", "-1", "2G")},
        conditions=lambda: _conditions(dice, ["Resizing", "FileSystemResizePending"]),
    )
    return status


def service_status(dice: Dice) -> Document:
    """Give the status of a Service."""
    ingress: list[Document] = []
    for address in dice.some([{"ip": "10.9.9.9"}, {"hostname": "h.dev"}, {"ip": "x"}], 0, 2):
        entry: Document = dict(address)
        dice.maybe(
            entry,
            0.2,
            ipMode=lambda: dice.pick("VIP", "Proxy", "Odd"),
            ports=lambda: [{"port": dice.pick(80, 0), "protocol": dice.pick("TCP", "UDP")}],
        )
        ingress.append(entry)
    status: Document = {"loadBalancer": {"ingress": ingress} if ingress else {}}
    dice.maybe(status, 0.3, conditions=lambda: _conditions(dice, ["Ready", "Odd"], full=dice.chance(0.8)))
    return status


def ingress_status(dice: Dice) -> Document:
    """Give the status of an Ingress."""
    ingress: list[Document] = []
    for address in dice.some([{"ip": "10.9.9.9"}, {"hostname": "h.dev"}, {"ip": "x"}], 0, 2):
        entry: Document = dict(address)
        dice.maybe(entry, 0.2, ports=lambda: [{"port": dice.pick(80, 0), "protocol": dice.pick("TCP", "UDP")}])
        ingress.append(entry)
    return {"loadBalancer": {"ingress": ingress} if ingress else {}}


def disruption_budget_status(dice: Dice) -> Document:
    """Give the status of a PodDisruptionBudget."""
    status: Document = {"disruptionsAllowed": 1, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
    status |= _counts(dice, "disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    dice.maybe(
        status,
        0.3,
        observedGeneration=lambda: dice.number(-1, 3),
        disruptedPods=lambda: {name: dice.of(_TIMES) for name in dice.some(["p", "q"])},
        conditions=lambda: _conditions(dice, ["DisruptionAllowed"], full=dice.chance(0.8)),
    )
    return status


def autoscaler_status(dice: Dice) -> Document:
    """Give the status of a HorizontalPodAutoscaler."""
    status: Document = {"desiredReplicas": dice.number(-1, 3)}
    dice.maybe(
        status,
        0.3,
        currentReplicas=lambda: dice.number(-1, 3),
        observedGeneration=lambda: dice.number(0, 3),
        lastScaleTime=lambda: dice.of(_TIMES),
        conditions=lambda: _conditions(dice, ["AbleToScale", "ScalingActive"]),
        currentMetrics=lambda: [
            {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 5, "averageValue": "1"}}}
        ],
    )
    return status


def quota_status(dice: Dice) -> Document:
    """Give the status of a ResourceQuota."""
    status: Document = {}
    names = ["count/as.x.dev", "cpu", "pods", "bad name"]
    dice.maybe(
        status,
        0.5,
        hard=lambda: {name: dice.pick("1", "2", "-1") for name in dice.some(names[:3])},
        used=lambda: {name: dice.pick("0", "1", "500m") for name in dice.some(names)},
    )
    return status
