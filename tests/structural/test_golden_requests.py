"""The requests recorded on the Widget CRD, as far as its schema determines the answer."""

import copy
import json
from collections import Counter
from typing import Any

import pytest
import yaml

from steersman.structural.custom_object import CustomKind
from tests.structural.answers import answer
from tests.support.schema_recordings import counted, golden_text, load

WIDGET = CustomKind.of(yaml.safe_load(golden_text("widgets-crd.yaml")), "v1")
CASES = {case.get("case", ""): case for case in load("requests")}
CREATED = [
    "missing required",
    "many errors",
    "type err",
    "cel",
    "unknown field strict",
    "dup field strict",
    "unknown field warn dry",
    "wrong kind",
    "no name",
    "bad name",
    "bad json",
    "bad labels",
    "create ok",
    "generateName",
]


def stored_widget() -> dict[str, Any]:
    """Return the object that the recorded updates start from."""
    return content(json.loads(CASES["create ok"]["response"]))


def content(obj: dict[str, Any]) -> dict[str, Any]:
    """Return the object without the fields that the server's store sets."""
    obj = copy.deepcopy(obj)
    for name in ("uid", "creationTimestamp", "resourceVersion", "managedFields"):
        obj["metadata"].pop(name, None)
    return obj


def expected(case: dict[str, Any]) -> dict[str, Any]:
    """Return a recorded answer in the format of `answer`."""
    warnings = [text.removeprefix('299 - "').removesuffix('"').replace('\\"', '"') for text in case["warnings"] or ()]
    body = json.loads(case["response"])
    wanted = {"status": case["status"], "warnings": Counter(warnings)}
    if body["kind"] != "Status":
        return wanted | {"object": content(body)}
    causes = body.get("details", {}).get("causes", [])
    return wanted | {"causes": counted(causes), "message": body["message"]}


def agree(actual: dict[str, Any], case: dict[str, Any]) -> None:
    """Compare an answer with a recording; causes come in random order."""
    wanted = expected(case)
    if sum(wanted.get("causes", Counter()).values()) > 1:
        wanted["message"] = actual["message"]
    assert actual == wanted


@pytest.mark.parametrize("name", CREATED)
def test_a_recorded_create_is_answered_as_recorded(name: str) -> None:
    """The Widget has every feature of schemas at once: they must work together."""
    case = CASES[name]
    query = case["path"].partition("?")[2]
    actual = answer(WIDGET, {"request": {"text": case["body"], "query": query}})
    if name == "generateName":
        recorded = json.loads(case["response"])["metadata"]["name"]
        actual["object"]["metadata"]["name"] = recorded
    agree(actual, case)


def test_an_immutable_field_cannot_change() -> None:
    """A transition rule sees the old value of its own field."""
    case = CASES["immut"]
    request = {"method": "PATCH", "body": json.loads(case["body"])}
    agree(answer(WIDGET, {"request": request, "old": stored_widget()}), case)


def test_a_status_write_changes_nothing_but_the_status() -> None:
    """Spec and metadata in a status write are ignored; unknown status fields cause a warning."""
    case = CASES["status put spec ignored"]
    request = {"method": "PATCH", "body": json.loads(case["body"]), "subresource": "status"}
    agree(answer(WIDGET, {"request": request, "old": stored_widget()}), case)


def test_finalizers_cannot_be_added_to_an_object_being_deleted() -> None:
    """The message lists them in Go's notation."""
    case = CASES["add finalizer while deleting"]
    old = stored_widget()
    old["metadata"] |= {"deletionTimestamp": "2026-11-15T20:12:40Z", "finalizers": ["x.y/z"]}
    actual = answer(WIDGET, {"request": {"method": "PATCH", "body": json.loads(case["body"])}, "old": old})
    wanted = expected(case)
    assert set(actual["causes"]) == set(wanted["causes"])
    assert actual["message"] == wanted["message"]
