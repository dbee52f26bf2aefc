"""CustomResourceDefinitions, compared with a real server's answers."""

from collections import Counter
from typing import Any

import pytest

from steersman.errors import DecodeError
from steersman.golang.strict_json import cannot_handle_message
from steersman.structural.crd.validation import validate_crd
from steersman.validation.field_errors import invalid_message
from tests.structural.answers import strict_faults
from tests.support.schema_recordings import CRDS_DECIDED_BY_THE_SERVER, counted, load

CASES = load("schema/crd_errors")


def stored(crd: dict[str, Any]) -> dict[str, Any]:
    """Return a CRD as a server stores it once it is served."""
    review = validate_crd(crd)
    assert not review.errors
    review.crd["status"]["conditions"] = [{"type": "Established", "status": "True"}]
    return review.crd


def named(crd: dict[str, Any]) -> dict[str, Any]:
    """Return a CRD with the name that the server generates for it."""
    prefix = crd["metadata"].get("generateName")
    return {**crd, "metadata": {**crd["metadata"], "name": f"{prefix}zzzzz"}} if prefix else crd


def answer(case: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a recorded request, in the format of the recording."""
    old = stored(case["old"]) if "old" in case else None
    try:
        review = validate_crd(named(case["crd"]), old)
    except DecodeError as error:
        kind = "CustomResourceDefinition"
        return {"status": 400, "causes": Counter(), "message": cannot_handle_message(kind, "v1", str(error))}
    if review.errors:
        causes = [
            {"reason": e.reason, "message": e.message.replace("zzzzz", "<5 random>"), "field": e.field}
            for e in review.errors
        ]
        message = invalid_message(
            review.errors,
            kind="CustomResourceDefinition",
            group="apiextensions.k8s.io",
            name=review.crd["metadata"].get("name", ""),
        )
        return {"status": 422, "causes": counted(causes), "message": message}
    return {
        "status": 201 if old is None else 200,
        "warnings": Counter(strict_faults([], review.unknown) + review.warnings),
        "spec": review.crd["spec"],
        "storedVersions": review.crd["status"]["storedVersions"],
    }


def expected(case: dict[str, Any]) -> dict[str, Any]:
    """Return the recorded answer in the same format."""
    if "response" not in case:
        return {key: case[key] for key in ("status", "message")} | {"causes": counted(case["causes"] or ())}
    response = case["response"]
    return {
        "status": case["status"],
        "warnings": Counter(case["warnings"]),
        "spec": response["spec"],
        "storedVersions": response["status"]["storedVersions"],
    }


@pytest.mark.parametrize("number", range(len(CASES)))
def test_a_crd_is_answered_as_by_a_real_server(number: int) -> None:
    """The recordings define status, causes, messages, warnings and the defaulted spec."""
    case = CASES[number]
    if case["about"] in CRDS_DECIDED_BY_THE_SERVER:
        pytest.skip(CRDS_DECIDED_BY_THE_SERVER[case["about"]])
    actual, wanted = answer(case), expected(case)
    if len(wanted.get("causes", ())) > 1:
        # The order of several causes is partly random, and so is the message that lists them.
        wanted["message"] = actual["message"]
    assert actual == wanted
