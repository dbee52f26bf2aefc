"""CertificateSigningRequests: the server sets the requesting user, and each subresource changes its own part."""

from steersman.apiserver.builtin.kind import ServedKind, ServerContext
from steersman.apiserver.builtin.strategy import BuiltinStrategy, copy_field
from steersman.apiserver.managed_fields.field_set import set_of
from steersman.apiserver.resources.request_context import RequestContext
from steersman.json_types import JsonObject


class SigningRequestStrategy(BuiltinStrategy):
    """CertificateSigningRequests, whose spec never changes."""

    def __init__(self, served: ServedKind, server: ServerContext) -> None:
        super().__init__(served, server)
        self.reset_fields = {
            "": set_of(("spec",), ("status",)),
            "status": set_of(("spec",), ("status", "conditions")),
            "approval": set_of(("spec",), ("status", "certificate")),
        }

    def prepare_update(self, obj: JsonObject, old: JsonObject, subresource: str, context: RequestContext) -> None:
        """Keep the spec; in the status, ``approval`` changes the conditions and ``status`` everything else."""
        conditions = (obj.get("status") or {}).get("conditions") or []
        super().prepare_update(obj, old, subresource, context)
        copy_field(obj, old, "spec")
        if subresource == "approval":
            _set_times(conditions, old, context.now)
            obj["status"] = {**(old.get("status") or {}), "conditions": conditions}
        elif subresource == "status":
            for name in ("Approved", "Denied"):
                _keep_conditions(conditions, old, name)
            _set_times(conditions, old, context.now)

    def prepare_create(self, obj: JsonObject, subresource: str, context: RequestContext) -> None:
        """Set the user who sent the request, whatever the body contains."""
        super().prepare_create(obj, subresource, context)
        spec, user = obj["spec"], context.user
        for name in ("username", "uid", "groups", "extra"):
            spec.pop(name, None)
        spec["username"] = user.name
        if user.uid:
            spec["uid"] = user.uid
        if user.groups:
            spec["groups"] = list(user.groups)
        if user.extra:
            spec["extra"] = {key: list(values) for key, values in user.extra}

    def fields(self, obj: JsonObject) -> dict[str, str]:
        """Return the signer."""
        return {"spec.signerName": (obj.get("spec") or {}).get("signerName", "")}

    def field_label_error(self, label: str) -> str:
        """Return an error unless the label is the name or the signer."""
        return "" if label in ("metadata.name", "spec.signerName") else f"field label not supported: {label}"


def _set_times(conditions: list[JsonObject], old: JsonObject, now: str) -> None:
    """Set missing times; a condition keeps its transition time while its status stays the same."""
    before = _conditions_of(old)
    for condition in conditions:
        if not condition.get("lastUpdateTime"):
            condition["lastUpdateTime"] = now
        if not condition.get("lastTransitionTime"):
            same = [
                one["lastTransitionTime"]
                for one in before
                if one.get("lastTransitionTime")
                and (one.get("type"), one.get("status")) == (condition.get("type"), condition.get("status"))
            ]
            condition["lastTransitionTime"] = same[0] if same else now


def _conditions_of(obj: JsonObject) -> list[JsonObject]:
    return (obj.get("status") or {}).get("conditions") or []


def _keep_conditions(conditions: list[JsonObject], old: JsonObject, name: str) -> None:
    """Restore the conditions of a type, unless some were added or removed: validation rejects that."""
    before = [condition for condition in _conditions_of(old) if condition.get("type") == name]
    places = [index for index, condition in enumerate(conditions) if condition.get("type") == name]
    if len(before) == len(places):
        for index, condition in zip(places, before, strict=True):
            conditions[index] = condition
