"""CustomResourceDefinitions: defaults, status, and what follows from a write to one."""

from collections.abc import Callable

from steersman.apiserver.builtin.kind import ServedKind, ServerContext
from steersman.apiserver.builtin.strategy import BuiltinStrategy
from steersman.apiserver.custom.definitions import FINALIZER
from steersman.apiserver.resources.request_context import RequestContext
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.errors import DecodeError
from steersman.json_types import JsonObject
from steersman.validation.field_errors import ValidationResult, invalid
from steersman.validation.object_meta import validate_any_change

#: The group and kind of definitions.
DEFINITION = ("apiextensions.k8s.io", "CustomResourceDefinition")
#: Called after every write with the definition and what it was before; the first is ``None`` for a delete.
Follow = Callable[[JsonObject | None, JsonObject | None], None]


class DefinitionStrategy(BuiltinStrategy):
    """The rules of custom resource definitions."""

    unconditional_update = False
    tells_grace = False
    marks_empty_values = False

    def __init__(self, served: ServedKind, server: ServerContext, *, follow: Follow) -> None:
        super().__init__(served, server)
        self._follow = follow

    def default(self, obj: JsonObject) -> None:
        """Fill in names that follow from the kind, and the conversion."""
        spec = obj.get("spec")
        if spec.__class__ is not dict:
            return
        names = spec.get("names")
        if names.__class__ is dict and names.get("kind"):
            names.setdefault("singular", names["kind"].lower())
            names.setdefault("listKind", f"{names['kind']}List")
        conversion = spec.setdefault("conversion", {"strategy": "None"})
        service = ((conversion.get("webhook") or {}).get("clientConfig") or {}).get("service")
        if service.__class__ is dict and not service.get("port"):
            service["port"] = 443

    def wrong_kind_text(self, kind: str, served: ServedResource) -> str:
        """Name the part of a real server that keeps definitions: it knows no other kinds."""
        known = f'version "{served.api_version}" in scheme "pkg/apiserver/apiserver.go:55"'
        return f'no kind "{kind}" is registered for {known}'

    def initial_status(self, obj: JsonObject) -> JsonObject:
        """Begin with nothing accepted."""
        versions = obj["spec"].get("versions") or ()
        storage = [entry["name"] for entry in versions if entry.get("storage")]
        return {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": storage}

    def prepare_update(self, obj: JsonObject, old: JsonObject, subresource: str, context: RequestContext) -> None:
        """Keep every version in which objects were ever stored."""
        super().prepare_update(obj, old, subresource, context)
        if subresource:
            return
        status = dict(obj.get("status") or {})
        stored = list(status.get("storedVersions") or ())
        now = [entry["name"] for entry in obj["spec"].get("versions") or () if entry.get("storage")]
        if now[:1] and now[0] not in stored:
            obj["status"] = {**status, "storedVersions": [*stored, now[0]]}

    def check(self, obj: JsonObject, old: JsonObject | None, subresource: str) -> ValidationResult:
        """Validate a CRD as kube-apiserver does."""
        if subresource == "status":
            return super().check(obj, old, subresource)
        from steersman.structural.crd.validation import validate_crd  # noqa: PLC0415 - a server starts without definitions

        try:
            review = validate_crd(obj, old)
        except DecodeError as error:
            return ValidationResult([invalid("spec", "", str(error))], [])
        errors = validate_any_change(obj["metadata"], old["metadata"], namespaced=False) if old is not None else []
        return ValidationResult([*errors, *review.errors], review.warnings)

    def before_delete(self, obj: JsonObject) -> None:
        """Make sure that objects are cleaned up before their definition goes."""
        finalizers = obj["metadata"].setdefault("finalizers", [])
        if FINALIZER not in finalizers:
            finalizers.append(FINALIZER)

    def marked_for_deletion(self, obj: JsonObject) -> None:
        """Show that the objects go first."""
        status = obj.setdefault("status", {})
        kept = [item for item in status.get("conditions") or () if item["type"] != "Terminating"]
        condition = {
            "type": "Terminating",
            "status": "True",
            "lastTransitionTime": obj["metadata"]["deletionTimestamp"],
            "reason": "InstanceDeletionPending",
            "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
        }
        status["conditions"] = [*kept, condition]

    def after_commit(self, obj: JsonObject | None, old: JsonObject | None) -> None:
        """Serve what is defined now."""
        self._follow(obj, old)
