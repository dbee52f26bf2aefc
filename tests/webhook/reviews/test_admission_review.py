"""Reviews as bytes: what is parsed, what is rejected, what is answered."""

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.errors import Deny
from steersman.webhook.reviews.admission_review import allowed, denied, request_of
from steersman.webhook.reviews.failure import ReviewFailed
from tests.webhook.example_reviews import response_of, review


def test_a_review_contains_the_user_and_the_request() -> None:
    """All arguments of a function come from here."""
    request = request_of(review(dryRun=True, operation="UPDATE", oldObject={"old": 1}))
    assert (request.uid, request.operation, request.dry_run) == ("u-1", "UPDATE", True)
    assert (request.user_info.username, request.user_info.groups) == ("jane", ["devs"])
    assert request.old == b'{"old":1}'
    assert b'"ConfigMap"' in request.new


def test_an_absent_object_is_empty_whether_null_or_left_out() -> None:
    """A delete has no new object, a create no old one; servers write null for both."""
    assert request_of(review(object=None)).new == b""
    assert request_of(review()).old == b""


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "not a valid AdmissionReview"),
        (b"not json", "not a valid AdmissionReview"),
        (b"[]", "not a valid AdmissionReview"),
        (b"[" * 100_000, "not a valid AdmissionReview"),
        (b'{"kind":"AdmissionReview"}', "got no apiVersion AdmissionReview"),
        (b'{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":7}', "v1beta1"),
        (b'{"apiVersion":"admission.k8s.io/v1","kind":"Status"}', "got admission.k8s.io/v1 Status"),
        (b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}', "has no request"),
        (review(uid=""), "no uid"),
        (review(uid=None), "not a valid AdmissionReview"),
        (review(operation="CONNECT"), "not a valid AdmissionReview"),
        (review(kind=None), "not a valid AdmissionReview"),
    ],
)
def test_an_invalid_review_is_rejected_with_the_reason(body: bytes, why: str) -> None:
    """The API server's error must show what is wrong with the request."""
    with pytest.raises(ReviewFailed, match=why) as refused:
        request_of(body)
    assert refused.value.code == 400


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(change=st.dictionaries(st.sampled_from(["uid", "kind", "operation", "userInfo", "object", "dryRun"]), _JSON))
@settings(max_examples=100, deadline=None)
def test_any_request_is_parsed_or_rejected(change: dict[str, Any]) -> None:
    """No input may end in a traceback."""
    with contextlib.suppress(ReviewFailed):
        request = request_of(review(**change))
        assert request.uid
        assert request.operation in ("CREATE", "UPDATE", "DELETE")


@given(body=st.binary(max_size=200))
@settings(max_examples=50, deadline=None)
def test_any_bytes_are_rejected(body: bytes) -> None:
    """The port can be reached from the whole cluster."""
    with pytest.raises(ReviewFailed):
        request_of(body)


def test_an_answer_has_the_uid_of_its_review() -> None:
    """The API server rejects any other."""
    assert response_of(allowed("u-7")) == {"uid": "u-7", "allowed": True}
    patch = [{"op": "add", "path": "/a", "value": 1}]
    assert response_of(allowed("u-7", ["careful"], patch)) == {
        "uid": "u-7",
        "allowed": True,
        "warnings": ["careful"],
        "patchType": "JSONPatch",
        "patch": patch,
    }


def test_a_denial_is_forbidden_and_one_about_a_field_invalid() -> None:
    """Clients distinguish the two by their code; kubectl shows the field."""
    request = request_of(review(name="a", uid="u"))
    plain = response_of(denied(request, Deny("not today")))
    assert (plain["allowed"], plain["status"]["code"]) == (False, 403)
    about_field = response_of(denied(request, Deny("too many", field="spec.replicas"), ["w"]))
    assert about_field["warnings"] == ["w"]
    assert about_field["status"]["code"] == 422
    assert about_field["status"]["message"] == "spec.replicas: too many"
    assert about_field["status"]["details"] == {
        "name": "a",
        "group": "",
        "kind": "ConfigMap",
        "causes": [{"reason": "FieldValueInvalid", "message": "too many", "field": "spec.replicas"}],
    }
