"""Namespaces: their own name as a label, a finalizer in the spec, a phase."""

from steersman.apiserver.builtin.strategies.base import BuiltinStrategy
from steersman.apiserver.resources.strategy import Document
from steersman.apiserver.status import Refusal, details
from steersman.validation.field_errors import ValidationResult, invalid
from steersman.validation.names import label_faults

_NAME_LABEL = "kubernetes.io/metadata.name"
PROTECTED = frozenset({"default", "kube-system", "kube-public"})


class NamespaceStrategy(BuiltinStrategy):
    """The rules of namespaces."""

    answers_delete_with_object = True
    tells_grace = False
    goes_by_phase = True

    def default(self, obj: Document) -> None:
        """Label a namespace with its name; it is active until somebody says otherwise."""
        metadata = obj["metadata"]
        if metadata.get("name"):
            metadata["labels"] = {**(metadata.get("labels") or {}), _NAME_LABEL: metadata["name"]}
        obj["status"] = {**(obj.get("status") or {})}
        obj["status"]["phase"] = obj["status"].get("phase") or "Active"

    def prepare_create(self, obj: Document, subresource: str = "") -> None:
        """Begin with the server's own finalizer."""
        super().prepare_create(obj, subresource)
        # A generated name was not known when the rest was filled in.
        self.default(obj)
        spec = obj.setdefault("spec", {})
        finalizers = list(spec.get("finalizers") or ())
        if "kubernetes" not in finalizers:
            finalizers.append("kubernetes")
        spec["finalizers"] = finalizers

    def initial_status(self, obj: Document) -> Document:
        """Begin active."""
        del obj
        return {"phase": "Active"}

    def prepare_update(self, obj: Document, old: Document, subresource: str) -> None:
        """Let finalizers in the spec change only through their own endpoint."""
        if subresource == "finalize":
            obj["status"] = old.get("status", {})
            return
        super().prepare_update(obj, old, subresource)
        if subresource == "":
            obj["spec"] = old.get("spec", {})

    def check(self, obj: Document, old: Document | None, subresource: str) -> ValidationResult:
        """Judge the phase: only what is being deleted may say so."""
        verdict = super().check(obj, old, subresource)
        phase = (obj.get("status") or {}).get("phase", "Active")
        errors = list(verdict.errors)
        is_going = "deletionTimestamp" in obj["metadata"]
        wanted = "Terminating" if is_going else "Active"
        if subresource == "status" and phase != wanted:
            text = f"may only be '{wanted}' if `deletionTimestamp` is {'not ' if is_going else ''}empty"
            errors.append(invalid("status.Phase", phase, text))
        return ValidationResult(errors, verdict.warnings)

    def may_finish(self, obj: Document) -> bool:
        """Tell whether the content is gone: somebody has emptied the finalizers in the spec."""
        return not obj.get("spec", {}).get("finalizers")

    def marked_for_deletion(self, obj: Document) -> None:
        """Show that the namespace goes."""
        obj["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}

    def check_delete(self, name: str) -> None:
        """Refuse to delete what the cluster cannot be without."""
        if name in PROTECTED:
            told = details(name, "", "namespaces")
            message = f'namespaces "{name}" is forbidden: this namespace may not be deleted'
            raise Refusal(403, "Forbidden", message, details=told)

    def name_faults(self, name: str, prefix: bool) -> list[str]:
        """Complain about a name that is no DNS label."""
        return label_faults(name[:-1] + "a" if prefix and name.endswith("-") else name)

    def fields(self, obj: Document) -> dict[str, str]:
        """Give the phase."""
        return {"status.phase": (obj.get("status") or {}).get("phase", "")}

    def field_label_error(self, label: str) -> str:
        """Namespaces are selected by name and phase."""
        return "" if label in ("metadata.name", "status.phase") else f"field label not supported: {label}"
