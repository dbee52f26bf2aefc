"""DaemonSets: defaults and strategy."""

from steersman.apiserver.builtin.common.defaults import set_default
from steersman.apiserver.builtin.pods.defaults import default_template
from steersman.apiserver.builtin.strategy import BuiltinStrategy
from steersman.apiserver.resources.request_context import RequestContext
from steersman.golang.empty_values import same_content
from steersman.json_types import JsonObject

#: Annotation with the number of template changes; older API versions had a field for it.
TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def default_daemon_set(obj: JsonObject) -> None:
    """Set the defaults of a DaemonSet."""
    spec = obj["spec"]
    annotations = obj["metadata"].get("annotations") or {}
    # A placeholder: the strategy sets the count, whatever the client sent.
    annotations.setdefault(TEMPLATE_GENERATION, "0")
    obj["metadata"]["annotations"] = annotations
    set_default(spec, revisionHistoryLimit=10)
    update = spec.setdefault("updateStrategy", {})
    set_default(update, type="RollingUpdate")
    if update["type"] == "RollingUpdate":
        set_default(update, rollingUpdate={})
        set_default(update["rollingUpdate"], maxUnavailable=1)
    if update.get("rollingUpdate") is not None:
        # Fields of a rolling update that another type kept are stored with zeros.
        set_default(update["rollingUpdate"], maxUnavailable=0, maxSurge=0)
    default_template(spec.get("template"))


class DaemonSetStrategy(BuiltinStrategy):
    """DaemonSets, which count changes of the template in an annotation."""

    def prepare_create(self, obj: JsonObject, subresource: str, context: RequestContext) -> None:
        """Set the first template generation."""
        super().prepare_create(obj, subresource, context)
        _set_template_generation(obj, max(1, _template_generation(obj)))

    def prepare_update(self, obj: JsonObject, old: JsonObject, subresource: str, context: RequestContext) -> None:
        """Increment the template generation when the template changed."""
        super().prepare_update(obj, old, subresource, context)
        is_same = subresource or same_content(obj["spec"].get("template"), old["spec"].get("template"))
        _set_template_generation(obj, _template_generation(old) + (0 if is_same else 1))


def _template_generation(obj: JsonObject) -> int:
    count = str((obj["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "0"))
    return int(count) if count.isascii() and count.lstrip("-").isdigit() else 0


def _set_template_generation(obj: JsonObject, count: int) -> None:
    obj["metadata"]["annotations"] = {**(obj["metadata"].get("annotations") or {}), TEMPLATE_GENERATION: str(count)}
