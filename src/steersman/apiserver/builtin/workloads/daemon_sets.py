"""DaemonSets: defaults and strategy."""

from steersman.apiserver.builtin.common.defaults import set_default
from steersman.apiserver.builtin.common.documents import Document
from steersman.apiserver.builtin.pods.defaults import default_template
from steersman.apiserver.builtin.strategy import BuiltinStrategy
from steersman.golang.empty_values import same_content

#: Counts the changes of a DaemonSet's template, as a field of an older version did.
TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


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


class DaemonSetStrategy(BuiltinStrategy):
    """DaemonSets: their template counts its own changes."""

    def prepare_create(self, obj: Document, subresource: str = "") -> None:
        """Begin to count."""
        super().prepare_create(obj, subresource)
        _count_templates(obj, max(1, _templates(obj)))

    def prepare_update(self, obj: Document, old: Document, subresource: str) -> None:
        """Count a change of the template."""
        super().prepare_update(obj, old, subresource)
        is_same = subresource or same_content(obj["spec"].get("template"), old["spec"].get("template"))
        _count_templates(obj, _templates(old) + (0 if is_same else 1))


def _templates(obj: Document) -> int:
    count = str((obj["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "0"))
    return int(count) if count.isascii() and count.lstrip("-").isdigit() else 0


def _count_templates(obj: Document, count: int) -> None:
    obj["metadata"]["annotations"] = {**(obj["metadata"].get("annotations") or {}), TEMPLATE_GENERATION: str(count)}
