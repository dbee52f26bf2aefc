from steersman.apiserver.builtin.discovery import builtin_resources
from steersman.apiserver.builtin.validation.registry import CHECKS, check_of
from steersman.apiserver.builtin.validation.warnings import validation_warnings
from steersman.objects.identity import GroupVersionKind


def test_every_named_check_is_there() -> None:
    """Rules are found by name when the first object of a kind is written; a wrong name would show only then."""
    assert all(check_of(key) is not None for key in CHECKS)


def test_every_checked_kind_is_served() -> None:
    """A rule for a kind that does not exist guards nothing."""
    served = {(resource.gvk.group, resource.gvk.kind) for resource, _, _ in builtin_resources()}
    assert not set(CHECKS) - served


def test_a_kind_without_rules_is_let_through() -> None:
    """Most kinds have no rules beyond their metadata."""
    assert check_of(("", "ServiceAccount")) is None


def test_a_kind_without_effect_says_so() -> None:
    """A quota that is accepted and never enforced would be a silent success."""
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}}
    warnings = validation_warnings(GroupVersionKind("", "v1", "ResourceQuota"), quota, None)
    assert warnings == ["this server does not enforce ResourceQuotas"]
