"""Deployments, ReplicaSets and ReplicationControllers: defaults and strategies."""

from steersman.apiserver.builtin.common.defaults import set_default
from steersman.apiserver.builtin.pods.defaults import default_template
from steersman.apiserver.builtin.strategy import BuiltinStrategy
from steersman.json_types import JsonObject

_QUARTER = "25%"


def default_deployment(obj: JsonObject) -> None:
    """Set the defaults of a Deployment."""
    spec = obj["spec"]
    set_default(spec, replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    strategy = spec.setdefault("strategy", {})
    set_default(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        set_default(strategy, rollingUpdate={})
        set_default(strategy["rollingUpdate"], maxUnavailable=_QUARTER, maxSurge=_QUARTER)
    default_template(spec.get("template"))


def default_replica_set(obj: JsonObject) -> None:
    """Set the defaults of a ReplicaSet."""
    set_default(obj["spec"], replicas=1)
    default_template(obj["spec"].get("template"))


def default_replication_controller(obj: JsonObject) -> None:
    """Set the defaults of a ReplicationController: its selector and labels are those of its template."""
    spec = obj["spec"]
    set_default(spec, replicas=1)
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if labels:
        if not spec.get("selector"):
            spec["selector"] = dict(labels)
        if not obj["metadata"].get("labels"):
            obj["metadata"]["labels"] = dict(labels)
    default_template(spec.get("template"))


class ReplicationControllerStrategy(BuiltinStrategy):
    """ReplicationControllers, whose pods are orphaned by default."""

    orphans_by_default = True

    def fields(self, obj: JsonObject) -> dict[str, str]:
        """Return the number of replicas."""
        return {"status.replicas": str((obj.get("status") or {}).get("replicas", 0))}

    def field_label_error(self, label: str) -> str:
        """Return an error unless the label is the name, the namespace or the number of replicas."""
        known = ("metadata.name", "metadata.namespace", "status.replicas")
        return "" if label in known else f"field label not supported: {label}"


class DeploymentStrategy(BuiltinStrategy):
    """Deployments, whose generation counts changes of annotations, too."""

    kept_in_status = ("labels",)

    def is_new_generation(self, obj: JsonObject, old: JsonObject) -> bool:
        """Return whether the spec or an annotation changed."""
        before, after = old["metadata"].get("annotations") or {}, obj["metadata"].get("annotations") or {}
        return before != after or super().is_new_generation(obj, old)
