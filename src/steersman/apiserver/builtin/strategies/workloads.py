"""Kinds that make pods: each with the few rules that are its own."""

from steersman.apiserver.builtin.defaults.workloads import TEMPLATE_GENERATION
from steersman.apiserver.builtin.strategies.base import BuiltinStrategy
from steersman.apiserver.resources.request_context import RequestContext
from steersman.apiserver.resources.strategy import Document
from steersman.golang.empty_values import same_content
from steersman.validation.object_meta import label_name_faults


class ReplicationControllerStrategy(BuiltinStrategy):
    """ReplicationControllers: their pods outlive them unless something else is said."""

    orphans_by_default = True

    def fields(self, obj: Document) -> dict[str, str]:
        """Give how many pods there are."""
        return {"status.replicas": str((obj.get("status") or {}).get("replicas", 0))}

    def field_label_error(self, label: str) -> str:
        """They are selected by name and number of pods."""
        known = ("metadata.name", "metadata.namespace", "status.replicas")
        return "" if label in known else f"field label not supported: {label}"


class DeploymentStrategy(BuiltinStrategy):
    """Deployments: annotations count as changes, too."""

    kept_in_status = ("labels",)

    def is_new_generation(self, obj: Document, old: Document) -> bool:
        """Tell whether the spec or an annotation changed."""
        before, after = old["metadata"].get("annotations") or {}, obj["metadata"].get("annotations") or {}
        return before != after or super().is_new_generation(obj, old)


class StatefulSetStrategy(BuiltinStrategy):
    """StatefulSets: their names begin those of hosts."""

    def name_faults(self, name: str, prefix: bool) -> list[str]:
        """Complain about a name that cannot stand in DNS."""
        return label_name_faults(name, prefix)


class DaemonSetStrategy(BuiltinStrategy):
    """DaemonSets: their template counts its own changes."""

    def prepare_create(self, obj: Document, subresource: str, context: RequestContext) -> None:
        """Begin to count."""
        super().prepare_create(obj, subresource, context)
        _count_templates(obj, max(1, _templates(obj)))

    def prepare_update(self, obj: Document, old: Document, subresource: str, context: RequestContext) -> None:
        """Count a change of the template."""
        super().prepare_update(obj, old, subresource, context)
        is_same = subresource or same_content(obj["spec"].get("template"), old["spec"].get("template"))
        _count_templates(obj, _templates(old) + (0 if is_same else 1))


def _templates(obj: Document) -> int:
    count = str((obj["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "0"))
    return int(count) if count.isascii() and count.lstrip("-").isdigit() else 0


def _count_templates(obj: Document, count: int) -> None:
    obj["metadata"]["annotations"] = {**(obj["metadata"].get("annotations") or {}), TEMPLATE_GENERATION: str(count)}


class JobStrategy(BuiltinStrategy):
    """Jobs: they select their pods by their own uid."""

    orphans_by_default = True

    def prepare_create(self, obj: Document, subresource: str, context: RequestContext) -> None:
        """Label the pods of a Job so that it finds them."""
        super().prepare_create(obj, subresource, context)
        spec, metadata = obj["spec"], obj["metadata"]
        if spec.get("manualSelector"):
            return
        template = spec.setdefault("template", {}).setdefault("metadata", {})
        labels = dict(template.get("labels") or {})
        uid, name = metadata["uid"], metadata.get("name") or ""
        for prefix in ("", "batch.kubernetes.io/"):
            labels[f"{prefix}controller-uid"] = uid
            labels[f"{prefix}job-name"] = name
        template["labels"] = labels
        selector = spec.get("selector") or {}
        matched = {**(selector.get("matchLabels") or {}), "batch.kubernetes.io/controller-uid": uid}
        spec["selector"] = {**selector, "matchLabels": matched}

    def fill_in(self, obj: Document, *, is_merged: bool) -> bool:
        """Give a Job without labels those of its pods."""
        del is_merged
        labels = ((obj["spec"].get("template") or {}).get("metadata") or {}).get("labels")
        if obj["metadata"].get("labels") or not labels:
            return False
        obj["metadata"]["labels"] = dict(labels)
        return True

    def fields(self, obj: Document) -> dict[str, str]:
        """Give how many pods succeeded."""
        return {"status.successful": str((obj.get("status") or {}).get("succeeded", 0))}

    def field_label_error(self, label: str) -> str:
        """Jobs are selected by name and success."""
        known = ("metadata.name", "metadata.namespace", "status.successful")
        return "" if label in known else f'field label "{label}" not supported for Job'
