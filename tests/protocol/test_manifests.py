"""Manifests are parsed strictly, as by servers, and written so that servers parse them to the same."""

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.errors import DecodeError
from steersman.golang.strict_json import settle_numbers
from steersman.objects.resource import Unstructured
from steersman.protocol import manifests
from steersman.protocol.manifests import dump, load, load_objects

HEAD = "apiVersion: v1\nkind: X\n"


def value_of(text: str) -> Any:
    """Return the value of a plain scalar in a manifest."""
    return load(f"{HEAD}v: {text}\n")[0]["v"]


def test_documents_are_read_in_order_and_empty_ones_skipped() -> None:
    """Concatenated files often contain extra separators and comments."""
    text = f"---\n# nothing\n---\n{HEAD}name: a\n---\n---\nnull\n---\n{HEAD}name: b\n"
    assert [document["name"] for document in load(text)] == ["a", "b"]


def test_json_is_read_as_well() -> None:
    """Some tools write JSON."""
    assert load(b'{"apiVersion":"v1","kind":"X","a":[1,true,null]}')[0]["a"] == [1, True, None]


def test_lists_are_expanded() -> None:
    """``kubectl get -o yaml`` of several objects prints one List."""
    text = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A}\n- {apiVersion: v1, kind: B}\n"
    assert [obj.gvk.kind for obj in load_objects(text)] == ["A", "B"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"{HEAD}a: 1\nb:\n  c: 1\n  c: 2\n", "f.yaml: line 6: the key 'c' is set twice"),
        (f"{HEAD}1: x\n", "line 3: the key '1' is not a string"),
        (f"{HEAD}yes: x\n", "line 3: the key 'yes' is not a string"),
        (f"{HEAD}~: x\n", "line 3: unsupported map key of type"),
        (f"{HEAD}? [a]\n: 1\n", "line 3: invalid map key"),
        (f"{HEAD}a: [1, 2\n", "line 4: did not find expected"),
        ("- a\n", "line 1: a document must be an object, not list"),
        ("just text", "line 1: a document must be an object, not str"),
        ("a: 1\n", "needs apiVersion and kind"),
        (f"{HEAD}a: .inf\n", r"line 3: json: unsupported value: \+Inf"),
        (f"{HEAD}a: !!binary x\n", "line 3: !!binary value contains invalid base64 data"),
        (f"{HEAD}a: !!int x\n", "line 3: cannot decode !!str `x` as a !!int"),
        (f"{HEAD}a: *b\n", "line 3: unknown anchor 'b' referenced"),
        (f"{HEAD}a: &a [*a]\n", "line 3: anchor 'a' value contains itself"),
        (f"{HEAD}a: \x01\n", "control characters"),
        (f"{HEAD}<<: 5\n", "line 3: map merge requires map or sequence of maps"),
        ("apiVersion: v1\nkind: List\nitems: [1]\n", "items of a List must be objects"),
    ],
)
def test_ambiguous_manifests_are_rejected_with_the_line(text: str, why: str) -> None:
    """A manifest that is only partly understood is worse than none."""
    with pytest.raises(DecodeError, match=why):
        load(text, source="f.yaml")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("y", True),
        ("off", False),
        ("2026-01-01", "2026-01-01"),
        ("22:22", "22:22"),
        ("012", 10),
        ("0o17", 15),
        ("-0x1f", -31),
        ("1_000", 1000),
        ("1e3", 1000),
        ("08", 8),
        ("1.50", 1.5),
        ("~", None),
        ("", None),
        ("'yes'", "yes"),
        ("!!str 5", "5"),
        ("1.2.3", "1.2.3"),
        ("0b101", 5),
        ("+5", 5),
    ],
)
def test_plain_scalars_are_parsed_as_by_servers(text: str, value: Any) -> None:
    """Kubernetes reads YAML with Go's library: a number there must be one here."""
    assert value_of(text) == value
    assert type(value_of(text)) is type(value)


def test_a_tag_never_creates_anything_but_json() -> None:
    """Tags that create Python objects could run code; Kubernetes ignores unknown tags."""
    (document,) = load(f"{HEAD}a: !!python/object/apply:os.system [x]\nb: !!binary aGk=\nc: !own 5\n")
    assert (document["a"], document["b"], document["c"]) == (["x"], "hi", "5")


def test_aliases_and_merges_become_copies() -> None:
    """Changing one place must not change another."""
    (document,) = load(f"{HEAD}a: &a {{x: {{m: 1}}}}\nb: *a\nc:\n  <<: *a\n  z: 2\n")
    assert document["c"] == {"x": {"m": 1}, "z": 2}
    document["b"]["x"]["m"] = 5
    assert document["a"] == {"x": {"m": 1}}


def test_aliases_cannot_exhaust_memory() -> None:
    """Ten lines can stand for ten billion values."""
    bomb = HEAD + "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
    bomb += "".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12))
    with pytest.raises(DecodeError, match="excessive aliasing"):
        load(bomb)


@pytest.mark.parametrize("levels", [1_100, 100_000])
def test_depth_cannot_exhaust_the_stack(levels: int) -> None:
    """The C library would crash the process where Python would raise."""
    with pytest.raises(DecodeError, match="exceeded max depth"):
        load(f"{HEAD}a: " + "[" * levels + "]" * levels)


def test_size_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is looked at before anything is parsed."""
    monkeypatch.setattr(manifests, "MAX_SIZE", 10)
    with pytest.raises(DecodeError, match="exceeds 10 bytes"):
        load(HEAD)


def test_bytes_that_are_not_text_are_rejected() -> None:
    """A user may pass the wrong file."""
    with pytest.raises(DecodeError):
        load(b"\xff\xfe\xff")


def test_dump_keeps_the_order_and_shows_lines() -> None:
    """Users read manifests from the top, and scripts in them line by line."""
    obj = Unstructured({"apiVersion": "v1", "kind": "X", "metadata": {"name": "a"}, "data": {"run": "a\nb\n"}})
    assert dump([obj]) == ("apiVersion: v1\nkind: X\nmetadata:\n  name: a\ndata:\n  run: |\n    a\n    b\n")


def test_dump_does_not_change_the_yaml_library() -> None:
    """Its tables are global."""
    dump([{"a": "y"}])
    assert yaml.safe_load("a: y\nb: 2026-01-01\n")["a"] == "y"
    assert yaml.safe_dump({"a": "y"}) == "a: y\n"


_texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]) | st.just("\n"), max_size=12)
_words = st.sampled_from(
    ["y", "N", "on", "1e3", "08", "0x1f", "2026-01-01", "22:22", "~", "null", "<<", "=", "1_0", ".5", ""]
)
_documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _texts | _words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts | _words, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(_documents, min_size=1, max_size=3))
def test_dumped_manifest_is_parsed_as_the_same_object(values: list[Any]) -> None:
    """Whatever an object contains."""
    documents = [{"apiVersion": "v1", "kind": "X", "v": value} for value in values]
    assert load(dump(documents)) == settle_numbers(documents)
