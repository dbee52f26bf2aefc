"""YAML that we write is read back unchanged, and looks like the output of kubectl."""

import pytest

from steersman.golang.yaml_reader import read_yaml
from steersman.golang.yaml_writer import write_sorted_yaml, write_yaml


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": "y", "a10": "x\ny\n", "a9": [{"a": 1}]}, 'a9:\n- a: 1\na10: |\n  x\n  y\nb: "y"\n'),
        ({"e": {}, "l": [], "s": "", "t": "1e3", "q": ": a"}, 'e: {}\nl: []\nq: \': a\'\ns: ""\nt: "1e3"\n'),
        ({"a": "22:22", "b": "2026-01-01", "c": "0o17"}, 'a: "22:22"\nb: "2026-01-01"\nc: "0o17"\n'),
        ({"a": 1234567.5, "b": 1e21, "c": None, "d": True}, "a: 1.2345675e+06\nb: 1e+21\nc: null\nd: true\n"),
        ({"a": "ends\n\n"}, "a: |+\n  ends\n\n"),
        ({"a1": 1, "a01": 2, "a-b": 3, "aB": 4, "A": 5}, "A: 5\na-b: 3\na1: 1\na01: 2\naB: 4\n"),
    ],
)
def test_yaml_is_written_as_go_does(value: dict[str, object], text: str) -> None:
    """Recorded from ``sigs.k8s.io/yaml`` v1.6.0: scripts compare such texts."""
    assert write_sorted_yaml(value) == text
    assert read_yaml(text).value == value


def test_a_shared_value_is_written_twice() -> None:
    """Users and patches cannot handle anchors."""
    shared = {"x": [1]}
    assert write_yaml([{"a": shared, "b": shared}]) == "a:\n  x:\n  - 1\nb:\n  x:\n  - 1\n"
