"""A recorded reconcile as the source of a test: whatever it contains, the source is valid and means the same."""

import ast
from datetime import UTC, datetime

import pytest

from steersman.errors import ConfigError
from steersman.history.recorded_test import name_of_test, recorded_test
from steersman.history.recordings import RecordedWrite, Recording, load_recordings
from steersman.history.records import CauseRecord, CauseType, EventRecord, ObjectName, Result

TEXTS = [
    "plain",
    'three """ quotes',
    "ends with a backslash \\",
    "two\nlines \\n and a tab\t",
    "\x1b[2J \x9b \u202e \x7f",
    "中文 → é",
    "'''",
    "- a: [",
    "",
    "0123",
    "true",
    "2030-01-01",
]


def recording(text: str) -> Recording:
    """Make a recording with a text in every place."""
    return Recording(
        object=ObjectName("Site", "default", "a", "example.com"),
        controller="site",
        number=7,
        started=datetime(2026, 11, 16, 10, 37, 55, 102_000, tzinfo=UTC),
        seconds=0.25,
        causes=(CauseRecord(CauseType.RETRY, detail=text),),
        reads=({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"text": text, "n": 1}},),
        writes=(RecordedWrite(verb="create", path="/api/v1/configmaps", body={"data": [text, None, True, 1.5]}),),
        events=(EventRecord("Normal", "Done", text),),
        external_systems=(f"db {text}",),
        result=Result.FAILED,
        message=text,
    )


@pytest.mark.parametrize("text", TEXTS)
def test_a_test_contains_what_was_recorded(text: str) -> None:
    """Objects can contain anything; none of it may become code, or be lost."""
    source = recorded_test(recording(text), "sites.main:operator")
    tree = ast.parse(source)
    assigned = next(node for node in tree.body if isinstance(node, ast.Assign))
    assert load_recordings(ast.literal_eval(assigned.value), source="the test") == (recording(text),)
    assert [type(node).__name__ for node in tree.body] == [
        "Expr",
        "ImportFrom",
        "ImportFrom",
        "Assign",
        "AsyncFunctionDef",
    ]
    assert source.replace("\n", "").isprintable()


def test_the_name_of_a_test_is_that_of_its_reconcile() -> None:
    """It is found by the object."""
    assert name_of_test(recording("")) == "site_default_a_reconcile_7"


@pytest.mark.parametrize("operator", ["", "a", "a:b:c", "a.b", "a\nimport os:b", "1a:b", "a:b; import os"])
def test_an_operator_that_cannot_be_imported_is_rejected(operator: str) -> None:
    """It becomes a line of code."""
    with pytest.raises(ConfigError, match="is not MODULE:OPERATOR"):
        recorded_test(recording(""), operator)
