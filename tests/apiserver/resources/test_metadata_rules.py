"""How often metadata is validated: the numbers are those of a real server."""

from collections import Counter
from typing import Any

import pytest

from steersman.apiserver.resources.metadata_rules import MetadataReview
from steersman.objects.identity import GroupVersionKind
from steersman.validation.object_meta import subdomain_name_faults

OLD: dict[str, Any] = {"name": "a", "namespace": "n", "uid": "1", "deletionTimestamp": "2026-01-01T00:00:00Z"}


def _causes(group: str, kind: str, change: dict[str, Any], subresource: str = "") -> dict[str, int]:
    review = MetadataReview(GroupVersionKind(group, "v1", kind), namespaced=True, name_faults=subdomain_name_faults)
    errors = review.of_changed({**OLD, **change}, OLD, subresource)
    return dict(Counter(error.field.removeprefix("metadata.") for error in errors))


@pytest.mark.parametrize(
    ("group", "kind", "subresource", "times"),
    [
        ("", "Pod", "", 2),
        ("apps", "Deployment", "status", 2),
        ("batch", "CronJob", "", 2),
        ("batch", "CronJob", "status", 1),
        ("discovery.k8s.io", "EndpointSlice", "", 1),
        ("policy", "PodDisruptionBudget", "", 1),
        ("events.k8s.io", "Event", "", 2),
    ],
)
def test_a_late_finalizer_is_reported_once_or_twice(group: str, kind: str, subresource: str, times: int) -> None:
    """Tools print the causes of a rejection: there must be as many as on a real server."""
    assert _causes(group, kind, {"finalizers": ["x.dev/late"]}, subresource) == {"finalizers": times}


def test_an_invalid_label_is_reported_by_every_validation() -> None:
    """All kinds validate twice; those that validate the whole object again report it once more."""
    change = {"labels": {"a b": "c"}}
    kinds = [("policy", "PodDisruptionBudget"), ("apps", "Deployment"), ("", "ConfigMap"), ("", "PersistentVolume")]
    assert [_causes(group, kind, change)["labels"] for group, kind in kinds] == [2, 3, 4, 4]


def test_some_kinds_accept_finalizers_without_a_domain() -> None:
    """A Lease or a webhook configuration with such a finalizer was rejected here, but not by a real server."""
    meta = {"name": "a", "namespace": "n", "finalizers": ["late"]}
    refused = []
    for group, kind in (("", "ConfigMap"), ("coordination.k8s.io", "Lease"), ("policy", "PodDisruptionBudget")):
        gvk = GroupVersionKind(group, "v1", kind)
        if MetadataReview(gvk, namespaced=True, name_faults=subdomain_name_faults).of_new(meta):
            refused.append(kind)
    assert refused == ["ConfigMap"]


def test_late_finalizers_are_reported_before_immutable_fields() -> None:
    """A message lists its causes in the order of validation."""
    gvk = GroupVersionKind("apps", "v1", "Deployment")
    review = MetadataReview(gvk, namespaced=True, name_faults=subdomain_name_faults)
    change = {**OLD, "uid": "2", "labels": {"a b": "c"}, "finalizers": ["late"]}
    fields = [error.field.removeprefix("metadata.") for error in review.of_changed(change, OLD, "")]
    assert fields == ["labels", "finalizers", "uid", "labels", "finalizers", "uid", "labels", "finalizers[0]"]
