"""Deployments and the other kinds that make pods."""

from typing import Any

from steersman.apiserver.builtin.pods.defaults import default_template, set_default

Document = dict[str, Any]
#: Counts the changes of a DaemonSet's template, as a field of an older version did.
TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_QUARTER = "25%"


def default_deployment(obj: Document) -> None:
    """Fill in a Deployment."""
    spec = obj["spec"]
    set_default(spec, replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    strategy = spec.setdefault("strategy", {})
    set_default(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        set_default(strategy, rollingUpdate={})
        set_default(strategy["rollingUpdate"], maxUnavailable=_QUARTER, maxSurge=_QUARTER)
    default_template(spec.get("template"))


def default_replica_set(obj: Document) -> None:
    """Fill in a ReplicaSet."""
    set_default(obj["spec"], replicas=1)
    default_template(obj["spec"].get("template"))


def default_replication_controller(obj: Document) -> None:
    """Fill in a ReplicationController: what its template is labelled with, it selects and is labelled with."""
    spec = obj["spec"]
    set_default(spec, replicas=1)
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if labels:
        if not spec.get("selector"):
            spec["selector"] = dict(labels)
        if not obj["metadata"].get("labels"):
            obj["metadata"]["labels"] = dict(labels)
    default_template(spec.get("template"))


def default_stateful_set(obj: Document) -> None:
    """Fill in a StatefulSet."""
    spec = obj["spec"]
    set_default(spec, podManagementPolicy="OrderedReady", replicas=1, revisionHistoryLimit=10)
    update = spec.setdefault("updateStrategy", {})
    set_default(update, type="RollingUpdate")
    if update["type"] == "RollingUpdate":
        set_default(update, rollingUpdate={})
        set_default(update["rollingUpdate"], partition=0)
    if spec.get("persistentVolumeClaimRetentionPolicy") is None:
        spec["persistentVolumeClaimRetentionPolicy"] = {}
    set_default(spec["persistentVolumeClaimRetentionPolicy"], whenDeleted="Retain", whenScaled="Retain")
    for claim in spec.get("volumeClaimTemplates") or ():
        claim["kind"] = "PersistentVolumeClaim"
        claim["apiVersion"] = "v1"
        set_default(claim.setdefault("spec", {}), volumeMode="Filesystem")
        claim.setdefault("status", {})["phase"] = "Pending"
    default_template(spec.get("template"))


def default_daemon_set(obj: Document) -> None:
    """Fill in a DaemonSet."""
    spec = obj["spec"]
    annotations = obj["metadata"].get("annotations") or {}
    # Nobody knows yet: the count is the server's own, whatever a client says or leaves out.
    annotations.setdefault(TEMPLATE_GENERATION, "0")
    obj["metadata"]["annotations"] = annotations
    set_default(spec, revisionHistoryLimit=10)
    update = spec.setdefault("updateStrategy", {})
    set_default(update, type="RollingUpdate")
    if update["type"] == "RollingUpdate":
        set_default(update, rollingUpdate={})
        set_default(update["rollingUpdate"], maxUnavailable=1)
    if update.get("rollingUpdate") is not None:
        # Kept of another type, it is stored whole.
        set_default(update["rollingUpdate"], maxUnavailable=0, maxSurge=0)
    default_template(spec.get("template"))


def default_job_spec(spec: Document) -> None:
    """Fill in what a Job does."""
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
        spec["parallelism"] = 1
    set_default(spec, parallelism=1, completionMode="NonIndexed", suspend=False, manualSelector=False)
    if spec.get("backoffLimit") is None:
        spec["backoffLimit"] = 2147483647 if spec.get("backoffLimitPerIndex") is not None else 6
    failure = spec.get("podFailurePolicy")
    set_default(spec, podReplacementPolicy="Failed" if failure is not None else "TerminatingOrFailed")
    for rule in (failure or {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            pattern["status"] = pattern.get("status") or "True"
    default_template(spec.get("template"))


def default_job(obj: Document) -> None:
    """Fill in a Job."""
    spec = obj["spec"]
    default_job_spec(spec)
    labels = (((spec.get("template") or {}).get("metadata")) or {}).get("labels")
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = dict(labels)


def default_cron_job(obj: Document) -> None:
    """Fill in a CronJob."""
    spec = obj["spec"]
    set_default(spec, concurrencyPolicy="Allow", suspend=False, successfulJobsHistoryLimit=3, failedJobsHistoryLimit=1)
    template = (spec.get("jobTemplate") or {}).get("spec")
    if template is not None:
        default_template(template.get("template"))


def default_autoscaler(obj: Document) -> None:
    """Fill in an autoscaler of autoscaling/v2."""
    spec = obj["spec"]
    set_default(spec, minReplicas=1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    behavior = spec.get("behavior")
    if behavior is not None:
        _default_scaling(behavior)


def _default_scaling(behavior: Document) -> None:
    up = behavior.get("scaleUp") or {}
    set_default(
        up,
        stabilizationWindowSeconds=0,
        selectPolicy="Max",
        policies=[
            {"type": "Pods", "value": 4, "periodSeconds": 15},
            {"type": "Percent", "value": 100, "periodSeconds": 15},
        ],
    )
    down = behavior.get("scaleDown") or {}
    set_default(down, selectPolicy="Max", policies=[{"type": "Percent", "value": 100, "periodSeconds": 15}])
    behavior["scaleUp"], behavior["scaleDown"] = up, down


def default_autoscaler_v1(obj: Document) -> None:
    """Fill in an autoscaler of autoscaling/v1."""
    set_default(obj["spec"], minReplicas=1, targetCPUUtilizationPercentage=80)
