"""Every recorded answer of a real API server about CEL rules, replayed."""

import json
import lzma
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from steersman.cel import EvaluationError
from steersman.json_types import ABSENT
from steersman.structural.cel_rules.rules import Rule
from tests.cel.differences import without_random_fields
from tests.cel.replay import Cause, Compiled, expected, replay, schema_of

_GOLDEN = Path(__file__).parents[1] / "golden" / "schema" / "cel.jsonl.xz"
_CASES: list[dict[str, Any]] = [json.loads(line) for line in lzma.decompress(_GOLDEN.read_bytes()).splitlines()]
_LIBRARIES = sorted({case["library"] for case in _CASES})


def _normal(causes: Counter[Cause]) -> Counter[Cause]:
    """Leave out the number that makes the name of a type unique."""
    return Counter(
        (field, re.sub(r"selfType\d+", "selfType<n>", message), reason) for field, message, reason in causes.elements()
    )


@pytest.mark.parametrize("library", _LIBRARIES)
def test_every_recorded_answer_is_reproduced(library: str) -> None:
    """Result, message, reason and field of all causes equal those of a real API server."""
    wrong = []
    for case in _CASES:
        if case["library"] == library:
            ours = without_random_fields(case, _normal(replay(case)))
            theirs = without_random_fields(case, expected(case))
            if ours != theirs:
                wrong.append((case["rule"], case.get("value"), theirs - ours, ours - theirs))
    assert wrong == []


def test_no_recorded_case_is_missing() -> None:
    """A truncated file would pass silently."""
    assert len(_CASES) == 1992


def _quickly(rule: Rule, value: Any, old: Any) -> Any:
    try:
        return None if rule.fast is None else rule.fast(value, old)
    except Exception:  # noqa: BLE001 - whatever stops generated code means: ask the interpreter
        return None


def _exactly(rule: Rule, value: Any, old: Any) -> Any:
    try:
        return rule.program.evaluate(*rule.values(value, old))
    except EvaluationError:
        return None


def test_generated_code_never_contradicts_the_interpreter() -> None:
    """Generated code may defer to the interpreter, but its answers must be right."""
    answered = 0
    for case in _CASES:
        if "value" not in case:
            continue
        compiled = Compiled(schema_of(case), is_root=case.get("level") == "root")
        old = case.get("old", ABSENT)
        for rule in compiled.rules.rules if compiled.rules is not None else ():
            if old is ABSENT and rule.needs_old:
                continue
            quick = _quickly(rule, case["value"], old)
            if quick is not None:
                answered += 1
                assert quick is _exactly(rule, case["value"], old), (case["rule"], case["value"])
    assert answered > 700
