"""YAML has the same meaning as in kube-apiserver and kubectl, and no input takes long to read."""

import json
from pathlib import Path
from typing import Any

import pytest

from steersman import json_types
from steersman.golang import yaml_reader
from steersman.golang.numbers import settled_number
from steersman.golang.yaml_reader import YamlError, read_yaml, read_yaml_documents

RECORDED = [json.loads(line) for line in (Path(__file__).parents[1] / "golden" / "yaml.jsonl").read_text().splitlines()]
#: libyaml and Go's port of it differ here, but never in the meaning of a value.
PARSED_DIFFERENTLY = {
    "[ e:]": "a colon at the end of a plain scalar in brackets",
    "[e:]": "a colon at the end of a plain scalar in brackets",
    "{e:}": "a colon at the end of a plain scalar in brackets",
    "[!!2tr]": "where a tag ends: another message",
    "!!omap [5: 1]: v\n": "how a key that is a list is quoted: another message",
    "%YAML 1.2\n---\na": "Go reads version 1.1 only",
    'a: "\\x41\\u00e9\\/\\e\\_"': "Go does not know the escape of a slash",
}


def settled(value: Any) -> Any:
    """Return a value as the server sees it after reading the JSON."""
    if isinstance(value, dict):
        return {key: settled(part) for key, part in value.items()}
    if isinstance(value, list):
        return [settled(part) for part in value]
    return settled_number(value) if value.__class__ in (int, float) else value


def difference(recorded: dict[str, Any]) -> str:
    """Return how the result of reading a text differs from the recording, or an empty text."""
    text = recorded["yaml"]
    try:
        document = read_yaml(text)
    except YamlError as error:
        return "" if str(error) == recorded.get("error") else f"{text!r}: {error}"
    # As JSON: True is not 1, and 1.0 is not 1.
    if json.dumps(document.value, sort_keys=True) != json.dumps(settled(recorded.get("json")), sort_keys=True):
        return f"{text!r}: {document.value!r}"
    # Go repeats an error about an anchor at each of its aliases.
    wanted, found = recorded.get("strict", ""), document.strict_error
    return "" if wanted == found or ("*" in text and wanted and found) else f"{text!r}: {found}"


def test_texts_are_read_as_kubernetes_reads_them() -> None:
    """A number for the server must be one here: a manifest must mean the same in tests and in a cluster."""
    compared = [recorded for recorded in RECORDED if recorded["yaml"] not in PARSED_DIFFERENTLY]
    assert len(compared) == len(RECORDED) - len(PARSED_DIFFERENTLY)
    assert [found for recorded in compared if (found := difference(recorded))] == []


def test_only_the_first_document_of_a_body_is_read() -> None:
    """The server reads the first document and ignores the rest."""
    assert read_yaml(b"a: 1\n---\nb: " + b"[" * 100_000).value == {"a": 1}


def test_every_document_of_a_file_is_read_with_its_line() -> None:
    """Messages about the third document of a file must not name a line of the first."""
    documents = list(read_yaml_documents("a: 1\n---\n---\nb: 2\n"))
    assert [(document.value, document.line) for document in documents] == [({"a": 1}, 1), (None, 2), ({"b": 2}, 3)]


def test_a_syntax_error_is_reported_before_any_other() -> None:
    """Go parses a whole document before it decodes it, and clients compare messages."""
    with pytest.raises(YamlError, match="did not find expected"):
        read_yaml("a: !!int x\nb: [\n")


def test_changing_one_place_of_an_alias_does_not_change_another() -> None:
    """The server edits documents in place."""
    value = read_yaml("a: &a {x: {m: [1]}}\nb: *a\nc:\n  <<: *a\n").value
    value["b"]["x"]["m"].append(2)
    value["c"]["x"]["m"].append(3)
    assert value["a"] == {"x": {"m": [1]}}


class Counted:
    """Counts the events of a parser and the copied values, which is the work that a text causes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.events = self.copies = 0
        parser, copied = yaml_reader._Parser, json_types.copied
        counted = self

        class Parser(parser):  # type: ignore[misc,valid-type] # chosen at run time
            def get_event(self) -> Any:
                counted.events += 1
                return super().get_event()

        def copying(value: Any) -> Any:
            counted.copies += 1
            return copied(value)

        monkeypatch.setattr(yaml_reader, "_Parser", Parser)
        monkeypatch.setattr(yaml_reader, "copied", copying)
        monkeypatch.setattr(json_types, "copied", copying)  # which calls itself by this name

    @property
    def work(self) -> int:
        """The sum of both."""
        return self.events + self.copies


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    """Count the work of the reader."""
    return Counted(monkeypatch)


def merge_bomb(levels: int) -> str:
    """Return objects each of which merges the previous one ten times."""
    lines = ["a0: &a0 {k: v}"]
    lines += [f"a{i}: &a{i} {{<<: [{','.join([f'*a{i - 1}'] * 10)}]}}" for i in range(1, levels)]
    return "\n".join(lines)


def alias_bomb(levels: int) -> str:
    """Return lists each of which contains the previous one ten times."""
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]" for i in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize("bomb", [merge_bomb(8), merge_bomb(12), alias_bomb(8), alias_bomb(12)])
def test_an_alias_bomb_costs_no_more_than_go_allows(bomb: str, counted: Counted) -> None:
    """507 bytes kept the server busy for a minute: each level was decoded again for every alias of it."""
    with pytest.raises(YamlError, match="document contains excessive aliasing"):
        read_yaml(bomb)
    assert counted.work < 450_000


def test_an_alias_of_a_long_string_cannot_fill_the_memory(counted: Counted) -> None:
    """A megabyte that is repeated a thousand times is a gigabyte once it is written as JSON."""
    text = f"a: &a {'x' * 1_000_000}\nb: [{','.join(['*a'] * 1000)}]"
    with pytest.raises(YamlError, match="excessive aliasing"):
        read_yaml(text)
    assert counted.copies < 5


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_deep_nesting_is_rejected_before_it_costs_anything(opening: str, counted: Counted) -> None:
    """The C library scans every open bracket for every token: a hundred thousand of them would take minutes."""
    with pytest.raises(YamlError, match="exceeded max depth of 1000"):
        read_yaml(opening * 100_000)
    assert counted.events < 4_000


def test_nothing_is_parsed_after_a_syntax_error(counted: Counted) -> None:
    """After an error the parser returns empty events without end: 8 bytes kept the server busy for half a second."""
    with pytest.raises(YamlError, match="did not find expected"):
        read_yaml("a: [1, 2")
    assert counted.events < 10


def test_many_values_inside_deep_nesting_are_rejected_early(counted: Counted) -> None:
    """A token inside a thousand brackets costs the C library a thousand steps."""
    text = "[" * 900 + "1," * 400_000 + "]" * 900
    with pytest.raises(YamlError, match="more than 500000 values"):
        read_yaml(text)
    assert counted.events < 70_000


def test_an_alias_counts_as_much_as_the_value_it_refers_to() -> None:
    """The count is that of a text without aliases: otherwise Go's limit would mean something else here."""
    small = f"a: &a [{','.join('x' * 90)}]\nb: [{','.join(['*a'] * 90)}]\n"
    assert len(read_yaml(small).value["b"]) == 90
    with pytest.raises(YamlError, match="excessive aliasing"):
        read_yaml(f"a: &a [{','.join('x' * 90)}]\nb: [{','.join(['*a'] * 9000)}]\n")


@pytest.mark.parametrize("text", ["1" * 1_000_000, "1:" * 500_000 + "1", "0x" + "f" * 1_000_000, "1_" * 500_000])
def test_a_long_number_is_a_string_and_takes_no_time(text: str) -> None:
    """Python converts long decimals in quadratic time, and PyYAML read ``1:1:1…`` as sexagesimal digits."""
    assert read_yaml(f"a: {text}\n").value == {"a": text}
