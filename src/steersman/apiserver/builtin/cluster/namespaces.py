"""Namespaces: the label with the name, the finalizer in the spec, the phase."""

from steersman.apiserver.builtin.strategy import BuiltinStrategy
from steersman.apiserver.resources.request_context import RequestContext
from steersman.apiserver.status import Refusal, details
from steersman.json_types import JsonObject
from steersman.validation.names import label_faults

_NAME_LABEL = "kubernetes.io/metadata.name"
PROTECTED = frozenset({"default", "kube-system", "kube-public"})


class NamespaceStrategy(BuiltinStrategy):
    """Namespaces, which pass through phases when they are deleted."""

    answers_delete_with_object = True
    tells_grace = False
    goes_by_phase = True

    def default(self, obj: JsonObject) -> None:
        """Set the label with the name, and the phase ``Active`` where none is given."""
        metadata = obj["metadata"]
        if metadata.get("name"):
            metadata["labels"] = {**(metadata.get("labels") or {}), _NAME_LABEL: metadata["name"]}
        obj["status"] = {**(obj.get("status") or {})}
        obj["status"]["phase"] = obj["status"].get("phase") or "Active"

    def prepare_create(self, obj: JsonObject, subresource: str, context: RequestContext) -> None:
        """Add the server's own finalizer."""
        super().prepare_create(obj, subresource, context)
        # A generated name was not known yet when the defaults were set.
        self.default(obj)
        spec = obj.setdefault("spec", {})
        finalizers = list(spec.get("finalizers") or ())
        if "kubernetes" not in finalizers:
            finalizers.append("kubernetes")
        spec["finalizers"] = finalizers

    def initial_status(self, obj: JsonObject) -> JsonObject:
        """Return an active phase."""
        del obj
        return {"phase": "Active"}

    def prepare_update(self, obj: JsonObject, old: JsonObject, subresource: str, context: RequestContext) -> None:
        """Keep the spec: only ``finalize`` changes the finalizers in it."""
        if subresource == "finalize":
            obj["status"] = old.get("status", {})
            return
        super().prepare_update(obj, old, subresource, context)
        if subresource == "":
            obj["spec"] = old.get("spec", {})

    def may_finish(self, obj: JsonObject) -> bool:
        """Return whether the finalizers in the spec are gone, which means that the content is deleted."""
        return not obj.get("spec", {}).get("finalizers")

    def marked_for_deletion(self, obj: JsonObject) -> None:
        """Set the phase ``Terminating``."""
        obj["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}

    def check_delete(self, name: str) -> None:
        """Reject the deletion of a protected namespace."""
        if name in PROTECTED:
            message = f'namespaces "{name}" is forbidden: this namespace may not be deleted'
            raise Refusal(403, "Forbidden", message, details=details(name, "", "namespaces"))

    def name_faults(self, name: str, prefix: bool) -> list[str]:
        """Return an error unless the name is a DNS label."""
        return label_faults(name[:-1] + "a" if prefix and name.endswith("-") else name)

    def fields(self, obj: JsonObject) -> dict[str, str]:
        """Return the phase."""
        return {"status.phase": (obj.get("status") or {}).get("phase", "")}

    def field_label_error(self, label: str) -> str:
        """Return an error unless the label is the name or the phase."""
        return "" if label in ("metadata.name", "status.phase") else f"field label not supported: {label}"
