"""How the metadata of an object is validated: by the rules of all kinds, and again by those of most kinds.

A refusal tells everything that anybody found, as often as it was found, in the order of looking. Who looks how often at
which kind is what a real server showed; the kinds that are not named here look once, at what has changed.
"""

from enum import Enum
from typing import Final

from steersman.apiserver.resources.metadata import plain_finalizer_errors
from steersman.json_types import JsonObject
from steersman.objects.identity import GroupVersionKind
from steersman.validation.field_errors import FieldError
from steersman.validation.object_meta import (
    NameFaults,
    validate_any_change,
    validate_object_meta,
    validate_object_meta_update,
)


class Look(Enum):
    """One pass of a kind's own rules over metadata."""

    #: All rules, as for a new object.
    WHOLE = "whole"
    #: The rules about fields that cannot change.
    CHANGE = "change"


_ONCE: Final = (Look.CHANGE,)


def _in(group: str, *kinds: str) -> list[str]:
    return [f"{kind}.{group}" for kind in kinds]


_ADMISSION: Final = _in(
    "admissionregistration.k8s.io",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
)
_UNSEEN: Final = [
    "Event",
    *_in("admissionregistration.k8s.io", "ValidatingAdmissionPolicy/status"),
    *_in("batch", "CronJob/status"),
    *_in("policy", "PodDisruptionBudget", "PodDisruptionBudget/status"),
    *_in("storage.k8s.io", "VolumeAttachment/status"),
]
_SEEN_WHOLE: Final = [
    "LimitRange",
    *_ADMISSION,
    *_in("discovery.k8s.io", "EndpointSlice"),
    *_in("flowcontrol.apiserver.k8s.io", "FlowSchema", "PriorityLevelConfiguration"),
    *_in("storage.k8s.io", "CSINode", "VolumeAttachment"),
]
_SEEN_WHOLE_LAST: Final = [
    *("ConfigMap", "Endpoints", "PersistentVolumeClaim", "Pod", "Secret", "ServiceAccount"),
    *_in("apps", "ControllerRevision"),
    *_in("networking.k8s.io", "Ingress", "IngressClass"),
]
_SEEN_WHOLE_FIRST: Final = [
    *("Namespace", "Node"),
    *_in("apiregistration.k8s.io", "APIService"),
    *_in("batch", "Job"),
    *_in("node.k8s.io", "RuntimeClass"),
    *_in("rbac.authorization.k8s.io", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"),
    *_in("storage.k8s.io", "StorageClass"),
]
#: By group and kind, with the subresource in the kind.
_LOOKS: Final[dict[str, tuple[Look, ...]]] = {
    **dict.fromkeys(_UNSEEN, ()),
    **dict.fromkeys(_SEEN_WHOLE, (Look.WHOLE,)),
    **dict.fromkeys(_SEEN_WHOLE_LAST, (Look.CHANGE, Look.WHOLE)),
    **dict.fromkeys(_SEEN_WHOLE_FIRST, (Look.WHOLE, Look.CHANGE)),
    "PersistentVolume": (Look.WHOLE, Look.WHOLE),
}
#: Kinds whose finalizers need no domain.
_PLAIN_FINALIZERS: Final = frozenset(
    {
        "Event",
        *_ADMISSION,
        *_in("apiextensions.k8s.io", "CustomResourceDefinition"),
        *_in("apiregistration.k8s.io", "APIService"),
        *_in("coordination.k8s.io", "Lease"),
        *_in("node.k8s.io", "RuntimeClass"),
        *_in("policy", "PodDisruptionBudget"),
    }
)


class MetadataReview:
    """Validates the metadata of one built-in kind."""

    def __init__(self, gvk: GroupVersionKind, *, namespaced: bool, name_faults: NameFaults) -> None:
        self._gvk = gvk
        self._namespaced = namespaced
        self._name_faults = name_faults
        self._takes_plain_finalizers = self._place("") in _PLAIN_FINALIZERS

    def of_new(self, metadata: JsonObject) -> list[FieldError]:
        """Validate the metadata of a new object."""
        errors = validate_object_meta(metadata, namespaced=self._namespaced, name_faults=self._name_faults)
        return errors + self._finalizer_errors(metadata)

    def of_changed(self, metadata: JsonObject, old: JsonObject, subresource: str) -> list[FieldError]:
        """Judge metadata that replaces other metadata."""
        errors = validate_any_change(metadata, old, namespaced=self._namespaced)
        for look in _LOOKS.get(self._place(subresource), _ONCE):
            if look is Look.WHOLE:
                errors += self.of_new(metadata)
            else:
                errors += validate_object_meta_update(metadata, old) + self._finalizer_errors(metadata)
        return errors

    def _place(self, subresource: str) -> str:
        kind = f"{self._gvk.kind}/status" if subresource == "status" else self._gvk.kind
        return f"{kind}.{self._gvk.group}" if self._gvk.group else kind

    def _finalizer_errors(self, metadata: JsonObject) -> list[FieldError]:
        return [] if self._takes_plain_finalizers else plain_finalizer_errors(metadata)
