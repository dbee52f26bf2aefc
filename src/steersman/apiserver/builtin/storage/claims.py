"""PersistentVolumeClaims: defaults and strategy."""

from decimal import Decimal

from steersman.apiserver.builtin.common.defaults import set_default
from steersman.apiserver.builtin.common.quantities import parse_quantity
from steersman.apiserver.builtin.kind import ServedKind, ServerContext
from steersman.apiserver.builtin.strategy import BuiltinStrategy
from steersman.apiserver.resources.request_context import RequestContext
from steersman.apiserver.status import Refusal, details
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json
from steersman.validation.field_errors import ValidationResult


def default_claim(obj: JsonObject) -> None:
    """Set the defaults of a PersistentVolumeClaim."""
    set_default(obj["spec"], volumeMode="Filesystem")


_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"


def _requested_storage(claim: JsonObject) -> Decimal:
    text = ((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage") or "0"
    return parse_quantity(text).value


def _expansion_forbidden(claim: JsonObject, why: str) -> Refusal:
    name = claim["metadata"]["name"]
    message = f'persistentvolumeclaims "{name}" is forbidden: {why}'
    return Refusal(403, "Forbidden", message, details=details(name, "", "persistentvolumeclaims"))


class ClaimStrategy(BuiltinStrategy):
    """PersistentVolumeClaims, which a finalizer protects while pods use them."""

    answers_delete_with_object = True

    def __init__(self, served: ServedKind, server: ServerContext) -> None:
        super().__init__(served, server)
        self._objects = server.objects

    def default(self, obj: JsonObject) -> None:
        """Set the defaults, and the phase ``Pending`` where none is given."""
        super().default(obj)
        obj["status"] = {"phase": "Pending", **(obj.get("status") or {})}

    def fill_in(self, obj: JsonObject, *, is_merged: bool) -> bool:
        """Set the phase ``Pending`` of a claim that was stored without one."""
        del is_merged
        status = obj.get("status") or {}
        if status.get("phase"):
            return False
        obj["status"] = {"phase": "Pending", **status}
        return True

    def prepare_create(self, obj: JsonObject, subresource: str, context: RequestContext) -> None:
        """Set the default storage class, and the finalizer that protects a claim that pods use."""
        super().prepare_create(obj, subresource, context)
        spec = obj["spec"]
        if spec.get("storageClassName") is None and (found := self._default_class()):
            spec["storageClassName"] = found
        _sync_data_sources(spec)
        finalizers = obj["metadata"].setdefault("finalizers", [])
        if "kubernetes.io/pvc-protection" not in finalizers:
            finalizers.append("kubernetes.io/pvc-protection")

    def check(self, obj: JsonObject, old: JsonObject | None, subresource: str) -> ValidationResult:
        """Validate a claim, and reject growth that its state or its storage class does not allow."""
        verdict = super().check(obj, old, subresource)
        if (
            old is not None
            and not subresource
            and not verdict.errors
            and _requested_storage(obj) > _requested_storage(old)
        ):
            self._check_expansion(obj, old)
        return verdict

    def _check_expansion(self, obj: JsonObject, old: JsonObject) -> None:
        if (old.get("status") or {}).get("phase") != "Bound":
            raise _expansion_forbidden(obj, "Only bound persistent volume claims can be expanded")
        name = obj["spec"].get("storageClassName") or ""
        record = self._objects.store.get("storageclasses.storage.k8s.io", "", name) if name else None
        if record is None or not decode_json(record.raw).get("allowVolumeExpansion"):
            raise _expansion_forbidden(
                obj,
                "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must "
                "support resize",
            )

    def _default_class(self) -> str:
        """Return the newest storage class that is marked as the default."""
        found = []
        for record in self._objects.records_of("storageclasses.storage.k8s.io"):
            metadata = decode_json(record.raw)["metadata"]
            if (metadata.get("annotations") or {}).get(_DEFAULT_CLASS) == "true":
                found.append((metadata["creationTimestamp"], record.name))
        return max(found)[1] if found else ""


def _may_be_data_source(source: JsonObject) -> bool:
    """Return whether ``dataSource`` may name an object of this kind."""
    known = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))
    return (source.get("apiGroup") or "", source.get("kind") or "") in known


def _sync_data_sources(spec: JsonObject) -> None:
    """Make ``dataSource`` and ``dataSourceRef`` equal; drop a data source of a kind that only the latter may name."""
    if spec.get("dataSource") is not None and not _may_be_data_source(spec["dataSource"]):
        del spec["dataSource"]
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        spec["dataSourceRef"] = dict(source)
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = dict(reference)
