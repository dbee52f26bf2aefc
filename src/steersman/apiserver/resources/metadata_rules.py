"""Validates the metadata of built-in kinds: by the rules of all kinds, and by what a kind allows as a finalizer."""

from typing import Final

from steersman.apiserver.resources.metadata import plain_finalizer_errors
from steersman.json_types import JsonObject
from steersman.objects.identity import GroupVersionKind
from steersman.validation.field_errors import FieldError
from steersman.validation.object_meta import (
    NameFaults,
    validate_any_change,
    validate_object_meta,
)


def _in(group: str, *kinds: str) -> list[str]:
    return [f"{kind}.{group}" for kind in kinds]


#: Kinds and subresources whose updates may leave a finalizer without a domain.
_UNSEEN: Final = frozenset({"CronJob/status.batch", "VolumeAttachment/status.storage.k8s.io"})
#: Kinds whose finalizers need no domain.
_PLAIN_FINALIZERS: Final = frozenset(
    {
        "Event",
        *_in(
            "admissionregistration.k8s.io",
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        ),
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
        """Validate metadata that replaces other metadata."""
        errors = validate_any_change(metadata, old, namespaced=self._namespaced)
        return errors if self._place(subresource) in _UNSEEN else errors + self._finalizer_errors(metadata)

    def _place(self, subresource: str) -> str:
        kind = f"{self._gvk.kind}/status" if subresource == "status" else self._gvk.kind
        return f"{kind}.{self._gvk.group}" if self._gvk.group else kind

    def _finalizer_errors(self, metadata: JsonObject) -> list[FieldError]:
        return [] if self._takes_plain_finalizers else plain_finalizer_errors(metadata)
