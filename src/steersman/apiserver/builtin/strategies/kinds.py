"""Smaller kinds: each with the few rules that are its own."""

import base64
from decimal import Decimal

from steersman.apiserver.builtin.conversion import (
    autoscaler_from_v2,
    autoscaler_to_v2,
    event_from_core,
    event_to_core,
)
from steersman.apiserver.builtin.strategies.base import BuiltinStrategy
from steersman.apiserver.builtin.validation.names import config_key_faults
from steersman.apiserver.builtin.validation.quantities import amount_of
from steersman.apiserver.resources.object_store import Ledger
from steersman.apiserver.resources.strategy import Document
from steersman.apiserver.status import Refusal, details
from steersman.objects.codec import decode_json
from steersman.validation.field_errors import (
    ErrorType,
    FieldError,
    ValidationResult,
    forbidden,
    invalid,
    required,
    too_long,
)
from steersman.validation.object_meta import subdomain_name_faults, url_name_faults

_NOT_READY = "node.kubernetes.io/not-ready"
_DATA_LIMIT = 1024 * 1024
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_ACCOUNT = "kubernetes.io/service-account.name"


#: The keys that typed secrets cannot do without.
_SECRET_KEYS = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}


class UrlNamed(BuiltinStrategy):
    """Kinds whose names may be whatever a URL can carry."""

    create_on_update = True

    def name_faults(self, name: str, prefix: bool) -> list[str]:
        """Complain about what no URL can carry."""
        return url_name_faults(name, prefix)


class DataStrategy(BuiltinStrategy):
    """ConfigMaps: a limited size, and never a change once immutable."""

    #: Which fields hold the data.
    parts: tuple[str, ...] = ("data", "binaryData")

    def check(self, obj: Document, old: Document | None, subresource: str) -> ValidationResult:
        """Judge size and immutability."""
        verdict = super().check(obj, old, subresource)
        errors = [*verdict.errors, *self._size_errors(obj), *_key_errors(obj)]
        if old is not None and old.get("immutable"):
            errors += self._immutable_errors(obj, old)
        return ValidationResult(errors, verdict.warnings)

    def _size_errors(self, obj: Document) -> list[FieldError]:
        total = sum(len(value.encode()) for value in (obj.get("data") or {}).values())
        total += sum(len(value) * 3 // 4 for value in (obj.get("binaryData") or {}).values())
        return (
            [FieldError(ErrorType.TOO_LONG, "[]", "", too_long("", _DATA_LIMIT).detail)] if total > _DATA_LIMIT else []
        )

    def _immutable_errors(self, obj: Document, old: Document) -> list[FieldError]:
        text = "field is immutable when `immutable` is set"
        errors = [] if obj.get("immutable") else [forbidden("immutable", text)]
        # An empty map is not none: it differs as long as it is not stored.
        errors += [forbidden(part, text) for part in self.parts if self._content(obj, part) != self._content(old, part)]
        return errors

    @staticmethod
    def _content(obj: Document, part: str) -> Document | None:
        """Give a part of the data; the first is there in every ConfigMap, be it empty."""
        found: Document | None = obj.get(part)
        return found or {} if part == "data" else found


def _key_errors(obj: Document) -> list[FieldError]:
    """Complain about keys that cannot be file names, and about those that two parts have."""
    errors = []
    for part in ("data", "binaryData"):
        for key in obj.get(part) or {}:
            errors += [invalid(f"{part}[{key}]", key, fault) for fault in config_key_faults(key)]
            if part == "data" and key in (obj.get("binaryData") or {}):
                errors.append(invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
    return errors


class SecretStrategy(DataStrategy):
    """Secrets: as ConfigMaps, and their type never changes."""

    parts = ("data",)

    @staticmethod
    def _content(obj: Document, part: str) -> Document | None:
        """Give the data; an empty map is not none."""
        return obj.get(part)

    def check(self, obj: Document, old: Document | None, subresource: str) -> ValidationResult:
        """Judge as ConfigMaps, and the type."""
        verdict = super().check(obj, old, subresource)
        errors = list(verdict.errors)
        if old is not None and obj.get("type") != old.get("type"):
            errors.append(invalid("type", obj.get("type", ""), "field is immutable"))
        data = obj.get("data") or {}
        needed = _SECRET_KEYS.get(obj.get("type", ""), ())
        errors += [required(f"data[{key}]") for key in needed if key not in data]
        if obj.get("type") == "kubernetes.io/basic-auth" and not {"username", "password"} & set(data):
            errors += [required(f"data[{key}]") for key in ("username", "password")]
        account = (obj["metadata"].get("annotations") or {}).get(_ACCOUNT)
        if obj.get("type") == "kubernetes.io/service-account-token" and not account:
            errors.append(required(f"metadata.annotations[{_ACCOUNT}]"))
        return ValidationResult(errors, [*verdict.warnings, *_pair_warnings(obj)])

    def prepare_update(self, obj: Document, old: Document, subresource: str) -> None:
        """Keep the type of a secret whose update does not say one."""
        super().prepare_update(obj, old, subresource)
        if not obj.get("type"):
            obj["type"] = old.get("type", "")

    def fields(self, obj: Document) -> dict[str, str]:
        """Give the type."""
        return {"type": obj.get("type", "")}

    def field_label_error(self, label: str) -> str:
        """Secrets are selected by name and type."""
        known = ("metadata.name", "metadata.namespace", "type")
        return "" if label in known else f"field label not supported: {label}"


def _pair_warnings(obj: Document) -> list[str]:
    """Warn about a certificate or key that servers will not be able to read."""
    if obj.get("type") != "kubernetes.io/tls":
        return []
    data = obj.get("data") or {}
    for key, what in (("tls.crt", "certificate"), ("tls.key", "key")):
        if b"-----BEGIN" not in base64.b64decode(data.get(key) or ""):
            return [f"tls: failed to find any PEM data in {what} input"]
    return []


def _size(claim: Document) -> Decimal:
    text = ((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage") or "0"
    return amount_of(text).value


def _cannot_grow(claim: Document, why: str) -> Refusal:
    name = claim["metadata"]["name"]
    message = f'persistentvolumeclaims "{name}" is forbidden: {why}'
    return Refusal(403, "Forbidden", message, details=details(name, "", "persistentvolumeclaims"))


class ClaimStrategy(BuiltinStrategy):
    """PersistentVolumeClaims: pending, and protected while in use."""

    answers_delete_with_object = True

    ledger: Ledger

    def default(self, obj: Document) -> None:
        """Let a claim be pending as long as nobody says otherwise."""
        super().default(obj)
        obj["status"] = {"phase": "Pending", **(obj.get("status") or {})}

    def fill_in(self, obj: Document, *, is_merged: bool) -> bool:
        """Let a claim that is stored without a phase be pending."""
        del is_merged
        status = obj.get("status") or {}
        if status.get("phase"):
            return False
        obj["status"] = {"phase": "Pending", **status}
        return True

    def prepare_create(self, obj: Document, subresource: str = "") -> None:
        """Give a claim the default class; protect it from going while it is used."""
        super().prepare_create(obj, subresource)
        spec = obj["spec"]
        if spec.get("storageClassName") is None and (found := self._default_class()):
            spec["storageClassName"] = found
        _settle_sources(spec)
        finalizers = obj["metadata"].setdefault("finalizers", [])
        if "kubernetes.io/pvc-protection" not in finalizers:
            finalizers.append("kubernetes.io/pvc-protection")

    def check(self, obj: Document, old: Document | None, subresource: str) -> ValidationResult:
        """Refuse that a claim grows whose class does not let it."""
        verdict = super().check(obj, old, subresource)
        if old is not None and not subresource and not verdict.errors and _size(obj) > _size(old):
            self._check_growth(obj, old)
        return verdict

    def _check_growth(self, obj: Document, old: Document) -> None:
        if (old.get("status") or {}).get("phase") != "Bound":
            raise _cannot_grow(obj, "Only bound persistent volume claims can be expanded")
        name = obj["spec"].get("storageClassName") or ""
        record = self.ledger.store.get("storageclasses.storage.k8s.io", "", name) if name else None
        if record is None or not decode_json(record.raw).get("allowVolumeExpansion"):
            raise _cannot_grow(
                obj,
                "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must "
                "support resize",
            )

    def _default_class(self) -> str:
        """Give the newest class that says that it is the default."""
        found = []
        for record in self.ledger.records_of("storageclasses.storage.k8s.io"):
            metadata = decode_json(record.raw)["metadata"]
            if (metadata.get("annotations") or {}).get(_DEFAULT_CLASS) == "true":
                found.append((metadata["creationTimestamp"], record.name))
        return max(found)[1] if found else ""


def _is_old_source(source: Document) -> bool:
    """Tell whether a claim could be filled from this before there was a way for all kinds."""
    known = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))
    return (source.get("apiGroup") or "", source.get("kind") or "") in known


def _settle_sources(spec: Document) -> None:
    """Keep the two ways in which a claim names what it is filled from alike."""
    if spec.get("dataSource") is not None and not _is_old_source(spec["dataSource"]):
        del spec["dataSource"]
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        spec["dataSourceRef"] = dict(source)
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = dict(reference)


class ProtectedClass(BuiltinStrategy):
    """VolumeAttributesClasses: protected while a volume has them."""

    def prepare_create(self, obj: Document, subresource: str = "") -> None:
        """Protect a class from going while it is used."""
        super().prepare_create(obj, subresource)
        finalizers = obj["metadata"].setdefault("finalizers", [])
        if "kubernetes.io/vac-protection" not in finalizers:
            finalizers.append("kubernetes.io/vac-protection")


class VolumeStrategy(BuiltinStrategy):
    """PersistentVolumes: pending, and protected while bound."""

    answers_delete_with_object = True

    def initial_status(self, obj: Document) -> Document:
        """Begin pending."""
        return {"phase": "Pending", "lastPhaseTransitionTime": obj["metadata"]["creationTimestamp"]}

    def prepare_create(self, obj: Document, subresource: str = "") -> None:
        """Protect a volume from going while it is used."""
        super().prepare_create(obj, subresource)
        finalizers = obj["metadata"].setdefault("finalizers", [])
        if "kubernetes.io/pv-protection" not in finalizers:
            finalizers.append("kubernetes.io/pv-protection")


class AnsweringWithObject(BuiltinStrategy):
    """Kinds that answer a delete with the object."""

    answers_delete_with_object = True


class NodeStrategy(BuiltinStrategy):
    """Nodes: whoever registers one says how it is."""

    def default(self, obj: Document) -> None:
        """Let everything that a node has be used, unless it says otherwise."""
        super().default(obj)
        spec = obj.get("spec") or {}
        if spec.get("podCIDR") and not spec.get("podCIDRs"):
            spec["podCIDRs"] = [spec["podCIDR"]]
        status = obj.get("status") or {}
        if status.get("capacity") and not status.get("allocatable"):
            obj["status"] = {**status, "allocatable": dict(status["capacity"])}

    def prepare_create(self, obj: Document, subresource: str = "") -> None:
        """Keep pods away until the node says that it is ready."""
        super().prepare_create(obj, subresource)
        taints = obj.setdefault("spec", {}).setdefault("taints", [])
        if not any(taint.get("key") == _NOT_READY and taint.get("effect") == "NoSchedule" for taint in taints):
            taints.append({"key": _NOT_READY, "effect": "NoSchedule"})

    def initial_status(self, obj: Document) -> Document:
        """Keep the status that came with the node."""
        status: Document = obj.get("status") or {}
        return status

    def fields(self, obj: Document) -> dict[str, str]:
        """Give whether pods may be placed."""
        return {"spec.unschedulable": "true" if (obj.get("spec") or {}).get("unschedulable") else "false"}

    def field_label_error(self, label: str) -> str:
        """Nodes are selected by name and by whether pods may be placed."""
        return "" if label in ("metadata.name", "spec.unschedulable") else f"field label not supported: {label}"


class ConditionalUpdate(BuiltinStrategy):
    """Kinds that are only updated from the version that was read."""

    unconditional_update = False


class OnlyStatus(BuiltinStrategy):
    """Kinds of which a write to the status changes no metadata."""

    kept_in_status = ("annotations", "finalizers", "labels", "ownerReferences")


class BudgetStrategy(ConditionalUpdate):
    """PodDisruptionBudgets: nobody looks at their names but whoever makes a URL of them."""

    def name_faults(self, name: str, prefix: bool) -> list[str]:
        """Complain about what no URL can carry."""
        return url_name_faults(name, prefix)


class LeaseStrategy(BuiltinStrategy):
    """Leases: made by whoever writes them first, updated only from what was read."""

    create_on_update = True
    unconditional_update = False

    def prepare_create(self, obj: Document, subresource: str = "") -> None:
        """Leave out what only coordinated elections have, which are off."""
        super().prepare_create(obj, subresource)
        _uncoordinated(obj)

    def prepare_update(self, obj: Document, old: Document, subresource: str) -> None:
        """Leave out what only coordinated elections have, which are off."""
        super().prepare_update(obj, old, subresource)
        _uncoordinated(obj)


def _uncoordinated(lease: Document) -> None:
    for name in ("strategy", "preferredHolder"):
        (lease.get("spec") or {}).pop(name, None)


class CreatedOnUpdate(BuiltinStrategy):
    """Kinds that an update of a missing object creates."""

    create_on_update = True


class SliceStrategy(BuiltinStrategy):
    """EndpointSlices: labels count as changes, too."""

    def is_new_generation(self, obj: Document, old: Document) -> bool:
        """Tell whether anything but the server's own metadata changed."""
        before, after = old["metadata"].get("labels") or {}, obj["metadata"].get("labels") or {}
        return before != after or super().is_new_generation(obj, old)


class NeverCounting(BuiltinStrategy):
    """Kinds that stay at their first generation."""

    def is_new_generation(self, obj: Document, old: Document) -> bool:
        """Say no."""
        del obj, old
        return False


class DeviceSliceStrategy(BuiltinStrategy):
    """ResourceSlices are selected by their node and driver."""

    def fields(self, obj: Document) -> dict[str, str]:
        """Give node and driver."""
        spec = obj.get("spec") or {}
        return {"spec.nodeName": spec.get("nodeName") or "", "spec.driver": spec.get("driver") or ""}

    def field_label_error(self, label: str) -> str:
        """They are selected by name, node and driver."""
        known = ("metadata.name", "spec.nodeName", "spec.driver")
        text = f"field label not supported for {self.gvk.api_version}, Kind={self.gvk.kind}: {label}"
        return "" if label in known else text


class EventStrategy(BuiltinStrategy):
    """Events of the core group: nobody looks at their names but whoever makes a URL of them."""

    create_on_update = True

    def name_faults(self, name: str, prefix: bool) -> list[str]:
        """Complain about what no URL can carry."""
        return url_name_faults(name, prefix)

    def fields(self, obj: Document) -> dict[str, str]:
        """Give what events are selected by, under the names of both groups."""
        core = self.to_stored(obj)
        about = core.get("involvedObject") or {}
        found = {f"involvedObject.{name}": str(about.get(name, "")) for name in _REFERENCE}
        found |= {f"regarding.{name}": str(about.get(name, "")) for name in _REFERENCE}
        source = (core.get("source") or {}).get("component", "") or core.get("reportingComponent", "")
        return {
            **found,
            "reason": core.get("reason", ""),
            "type": core.get("type", ""),
            "source": source,
            "reportingComponent": core.get("reportingComponent", ""),
            "reportingController": core.get("reportingComponent", ""),
        }

    def field_label_error(self, label: str) -> str:
        """Events are selected by what they are about."""
        prefix = "involvedObject" if not self.gvk.group else "regarding"
        controller = "reportingComponent" if not self.gvk.group else "reportingController"
        known = {f"{prefix}.{name}" for name in _REFERENCE}
        known |= {"metadata.name", "metadata.namespace", "reason", "type", "source", controller}
        return "" if label in known else f"field label not supported: {label}"


class NewEventStrategy(EventStrategy):
    """Events of events.k8s.io, which are kept as core events."""

    def name_faults(self, name: str, prefix: bool) -> list[str]:
        """Complain about names that are no subdomains."""
        return subdomain_name_faults(name, prefix)

    def to_stored(self, obj: Document) -> Document:
        """Give the event as the core group knows it."""
        return event_to_core(obj)

    def from_stored(self, stored: Document, api_version: str) -> Document:
        """Give a core event as this group knows it."""
        del api_version
        return event_from_core(stored)


class AutoscalerStrategy(BuiltinStrategy):
    """Autoscalers of autoscaling/v2, and of v1, which are kept as v2."""

    def to_stored(self, obj: Document) -> Document:
        """Give an autoscaler as v2 knows it."""
        return autoscaler_to_v2(obj) if self.gvk.version == "v1" else obj

    def from_stored(self, stored: Document, api_version: str) -> Document:
        """Give a v2 autoscaler in the version of this strategy."""
        return autoscaler_from_v2(stored) if api_version == "autoscaling/v1" else stored


_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
