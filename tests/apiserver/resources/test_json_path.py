from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apiserver.resources.json_path import PathError, compile_path

DOCUMENT = {
    "spec": {"a": 1, "list": [{"n": "x", "v": 1}, {"n": "y", "v": True}], "odd.key": "o"},
    "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "False"}]},
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.a", [1]),
        ("{.spec.a}", [1]),
        ("$.spec.list[0].n", ["x"]),
        (".spec.list[-1].n", ["y"]),
        (".spec.list[*].n", ["x", "y"]),
        (".spec['odd.key']", ["o"]),
        (r".spec.odd\.key", ["o"]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type!='Ready')].status", ["False"]),
        (".spec.list[?(@.v==true)].n", ["y"]),
        (".nowhere.at[3].all", []),
    ],
)
def test_a_path_finds_the_value_it_names(path: str, found: list[Any]) -> None:
    """Printer columns of real CRDs use these forms."""
    assert compile_path(path)(DOCUMENT) == found


@given(st.text(max_size=30))
def test_any_text_is_a_path_or_rejected(text: str) -> None:
    """A CRD may contain anything; evaluating a path must never fail."""
    try:
        follow = compile_path(text)
    except PathError:
        return
    follow(DOCUMENT)
