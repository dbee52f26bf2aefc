"""Metadata of built-in kinds: what is rejected in a new object and in an update."""

from typing import Any

import pytest

from steersman.apiserver.resources.metadata_rules import MetadataReview
from steersman.apiserver.status import invalid
from steersman.objects.identity import GroupVersionKind
from steersman.validation.object_meta import subdomain_name_faults

OLD: dict[str, Any] = {"name": "a", "namespace": "n", "uid": "1", "deletionTimestamp": "2026-01-01T00:00:00Z"}


def _rejected(group: str, kind: str, change: dict[str, Any], subresource: str = "") -> list[str]:
    """Return the fields that a client is told about, in the order of its causes."""
    review = MetadataReview(GroupVersionKind(group, "v1", kind), namespaced=True, name_faults=subdomain_name_faults)
    refusal = invalid(kind, group, "a", review.of_changed({**OLD, **change}, OLD, subresource))
    return [cause["field"].removeprefix("metadata.") for cause in refusal.details["causes"]]


@pytest.mark.parametrize(
    ("group", "kind", "subresource"),
    [("", "Pod", ""), ("apps", "Deployment", "status"), ("batch", "CronJob", "status"), ("events.k8s.io", "Event", "")],
)
def test_an_error_is_a_cause_once(group: str, kind: str, subresource: str) -> None:
    """Several rules find the same; repeating it does not help the reader of the message."""
    change = {"uid": "2", "labels": {"a b": "c"}, "finalizers": ["x.dev/late"]}
    assert sorted(_rejected(group, kind, change, subresource)) == ["finalizers", "labels", "uid"]


@pytest.mark.parametrize(("subresource", "fields"), [("", ["finalizers", "finalizers[0]"]), ("status", ["finalizers"])])
def test_a_status_update_of_a_cron_job_may_leave_a_finalizer_without_a_domain(
    subresource: str, fields: list[str]
) -> None:
    """A real server does not look at finalizers there."""
    assert _rejected("batch", "CronJob", {"finalizers": ["late"]}, subresource) == fields


def test_some_kinds_accept_finalizers_without_a_domain() -> None:
    """A Lease or a webhook configuration with such a finalizer was rejected here, but not by a real server."""
    meta = {"name": "a", "namespace": "n", "finalizers": ["late"]}
    refused = []
    for group, kind in (("", "ConfigMap"), ("coordination.k8s.io", "Lease"), ("policy", "PodDisruptionBudget")):
        gvk = GroupVersionKind(group, "v1", kind)
        if MetadataReview(gvk, namespaced=True, name_faults=subdomain_name_faults).of_new(meta):
            refused.append(kind)
    assert refused == ["ConfigMap"]
