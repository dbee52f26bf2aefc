"""CertificateSigningRequests: who asks is said by the server, approvers change conditions, signers the rest."""

from steersman.apiserver.builtin.strategies.base import BuiltinStrategy, take
from steersman.apiserver.managed_fields.field_set import set_of
from steersman.apiserver.resources.request_context import RequestContext
from steersman.apiserver.resources.strategy import Document
from steersman.objects.identity import GroupVersionKind


class SigningRequestStrategy(BuiltinStrategy):
    """The rules of CertificateSigningRequests; they are selected by their signer."""

    def __init__(self, gvk: GroupVersionKind, *, namespaced: bool, has_status: bool, counts: bool) -> None:
        super().__init__(gvk, namespaced=namespaced, has_status=has_status, counts=counts)
        self.reset_fields = {
            "": set_of(("spec",), ("status",)),
            "status": set_of(("spec",), ("status", "conditions")),
            "approval": set_of(("spec",), ("status", "certificate")),
        }

    def prepare_update(self, obj: Document, old: Document, subresource: str, context: RequestContext) -> None:
        """Keep what was asked for; of the status, approvers change the conditions and signers everything else."""
        conditions = (obj.get("status") or {}).get("conditions") or []
        super().prepare_update(obj, old, subresource, context)
        take(obj, old, "spec")
        if subresource == "approval":
            _date(conditions, old, context.now)
            obj["status"] = {**(old.get("status") or {}), "conditions": conditions}
        elif subresource == "status":
            for name in ("Approved", "Denied"):
                _keep_conditions(conditions, old, name)
            _date(conditions, old, context.now)

    def prepare_create(self, obj: Document, subresource: str, context: RequestContext) -> None:
        """Set who asks, whatever the request says."""
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

    def fields(self, obj: Document) -> dict[str, str]:
        """Return the signer."""
        return {"spec.signerName": (obj.get("spec") or {}).get("signerName", "")}

    def field_label_error(self, label: str) -> str:
        """Return why a field cannot be selected by."""
        return "" if label in ("metadata.name", "spec.signerName") else f"field label not supported: {label}"


def _date(conditions: list[Document], old: Document, now: str) -> None:
    """Fill in when conditions were updated, and when they came to be what they are."""
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


def _conditions_of(obj: Document) -> list[Document]:
    return (obj.get("status") or {}).get("conditions") or []


def _keep_conditions(conditions: list[Document], old: Document, name: str) -> None:
    """Put conditions of a type back as they were, unless some were added or removed, which is refused later."""
    before = [condition for condition in _conditions_of(old) if condition.get("type") == name]
    places = [index for index, condition in enumerate(conditions) if condition.get("type") == name]
    if len(before) == len(places):
        for index, condition in zip(places, before, strict=True):
            conditions[index] = condition
