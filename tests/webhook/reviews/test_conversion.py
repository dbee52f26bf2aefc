"""Conversion reviews as bytes: batches, order, uid, and what is rejected."""

import json
from typing import Any

import pytest

from steersman.errors import DeclarationError, DecodeError
from steersman.kinds.core_v1 import Pod
from steersman.objects.model import Model
from steersman.objects.resource import Resource, Status
from steersman.schema import converts, custom_resource, renames
from steersman.webhook.reviews.conversion import Conversions
from tests.support.websites import GROUP, KINDS, AlphaWebsite, BetaWebsite, Website

CONVERSIONS = Conversions([Website, BetaWebsite, AlphaWebsite, Pod])
Document = dict[str, Any]


def _website(name: str, version: str = "v1beta1", **spec: Any) -> Document:
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Website", "metadata": {"name": name}, "spec": spec}


def _review(objects: Any, version: str = f"{GROUP}/v1", **extra: Any) -> bytes:
    request = {"uid": "u-1", "desiredAPIVersion": version, "objects": objects}
    review = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}
    return json.dumps(review | extra).encode()


def _answer(body: bytes) -> Document:
    answer: Document = json.loads(CONVERSIONS.review(body))
    assert (answer["apiVersion"], answer["kind"]) == ("apiextensions.k8s.io/v1", "ConversionReview")
    assert answer["response"]["uid"] == "u-1"
    response: Document = answer["response"]
    return response


def test_a_batch_is_returned_complete_and_in_order() -> None:
    """A server converts all objects of a list at once, and counts the result."""
    objects = [_website(f"w{place}", replicas=place) for place in range(50)]
    objects[7] = _website("w7", "v1", copies=7)
    response = _answer(_review(objects))
    assert response["result"] == {"status": "Success"}
    assert [made["metadata"]["name"] for made in response["convertedObjects"]] == [f"w{n}" for n in range(50)]
    assert [made["spec"]["copies"] for made in response["convertedObjects"]] == list(range(50))
    assert {made["apiVersion"] for made in response["convertedObjects"]} == {f"{GROUP}/v1"}


def test_an_empty_batch_is_converted_to_an_empty_one() -> None:
    """A server may send an empty list."""
    assert _answer(_review([]))["convertedObjects"] == []


@pytest.mark.parametrize(
    ("objects", "version", "message"),
    [
        ([_website("a")], f"{GROUP}/v7", "there is no version 'web.example.com/v7' of Website"),
        ([_website("a", "v7")], f"{GROUP}/v1", "there is no version 'web.example.com/v7' of Website"),
        (
            [{**_website("a"), "kind": "Webside"}],
            f"{GROUP}/v1",
            "there is no conversion of web.example.com/v1beta1 Webside",
        ),
        ([{**_website("a"), "apiVersion": "v1"}], f"{GROUP}/v1", "there is no conversion of v1 Website"),
        ([_website("a"), 7], f"{GROUP}/v1", "something that is not an object"),
        ([{**_website("a"), "metadata": None}], f"{GROUP}/v1", "something that is not an object"),
        ([_website("a"), _website("b", "v1alpha1", words=7)], f"{GROUP}/v1", "Website b cannot become v1: not a Alpha"),
    ],
)
def test_an_object_that_cannot_be_converted_fails_the_whole_review(objects: Any, version: str, message: str) -> None:
    """The server could not tell which part of a partial list is missing."""
    response = _answer(_review(objects, version))
    assert response["convertedObjects"] == []
    assert response["result"]["status"] == "Failure"
    assert message in response["result"]["message"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "not JSON"),
        (b"[]", "not a ConversionReview"),
        (b'{"kind":"AdmissionReview"}', "not a ConversionReview"),
        (_review([], apiVersion="apiextensions.k8s.io/v1beta1"), "only apiextensions.k8s.io/v1 is supported"),
        (_review([], request=None), "without a request"),
        (_review([], request={"desiredAPIVersion": "a/b", "objects": []}), "needs uid, desiredAPIVersion and objects"),
        (_review({}), "needs uid, desiredAPIVersion and objects"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_an_invalid_review_is_rejected(body: bytes, message: str) -> None:
    """There is no uid to answer to: the caller gets a plain 400."""
    with pytest.raises(DecodeError, match=message):
        CONVERSIONS.review(body)


def test_kinds_of_one_version_need_no_conversion() -> None:
    """An operator without versions should serve no webhook for them."""
    assert not Conversions([Website, Pod])
    assert CONVERSIONS


class Narrow(Model):
    """One field."""

    a: str = ""


class Wide(Narrow):
    """One field more."""

    b: str = ""


@custom_resource("lossy.example.com/v1", kind="Lossy", storage=True, into=KINDS)
class LossyV1(Resource[Wide, Status]):
    """Has a field more."""


@custom_resource("lossy.example.com/v1beta1", kind="Lossy", into=KINDS)
class LossyBeta(Resource[Narrow, Status]):
    """Has a field less."""


renames(LossyBeta, LossyV1, {})


def test_a_lossy_conversion_is_rejected_before_the_first_review() -> None:
    """An operator that would lose data must not start."""
    with pytest.raises(DeclarationError, match=r"versions of Lossy.lossy.example.com lose something:\n.*\.spec\.b of"):
        Conversions([LossyV1, LossyBeta])


def test_the_error_of_a_converter_is_returned_to_the_caller() -> None:
    """Kubectl shows this text: it must name the object and the function."""

    @custom_resource("raises.example.com/v1", kind="Raises", storage=True, into=KINDS)
    class One(Resource[Narrow, Status]):
        """One."""

    @custom_resource("raises.example.com/v1beta1", kind="Raises", into=KINDS)
    class Two(Resource[Narrow, Status]):
        """Two."""

    @converts(Two, One)
    def up(old: Two) -> One:
        if old.spec.a == "bad":
            raise ValueError("a must not be bad")
        return One(old.metadata, old.spec, old.status)

    converts(One, Two)(lambda new: Two(new.metadata, new.spec, new.status))
    bad = {
        "apiVersion": "raises.example.com/v1beta1",
        "kind": "Raises",
        "metadata": {"name": "x"},
        "spec": {"a": "bad"},
    }
    answer = json.loads(Conversions([One, Two]).review(_review([bad], "raises.example.com/v1")))
    assert "Raises x cannot become v1: " in answer["response"]["result"]["message"]
    assert "up raised ValueError: a must not be bad" in answer["response"]["result"]["message"]
