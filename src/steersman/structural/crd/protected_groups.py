"""API groups of the Kubernetes community: a CustomResourceDefinition in one of them needs an approval."""

from typing import Final

#: The annotation with the approval, or the reason why there is none.
APPROVAL_ANNOTATION: Final = "api-approved.kubernetes.io"
_PROTECTED: Final = ("k8s.io", "kubernetes.io")


def is_protected_group(group: str) -> bool:
    """Return whether a group belongs to the Kubernetes community."""
    return any(group == name or group.endswith(f".{name}") for name in _PROTECTED)
