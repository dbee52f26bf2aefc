"""Counts what somebody had to write for each example: lines of code that are neither blank, nor comment, nor docstring.

``python -m tools.example_lines`` shows the examples, and beside them the same with kopf where there is that: Python,
and the YAML of the definitions, which comes from no classes there.
"""

import ast
import importlib
import io
import sys
import tokenize
from pathlib import Path
from typing import Any

import yaml

from steersman.scaffold.manifests.plain import definition_objects

EXAMPLES = Path(__file__).parent.parent / "examples"
KOPF = Path(__file__).parent.parent / "bench" / "kopf"
GO = Path(__file__).parent.parent / "bench" / "go"
#: The programs in `bench/kopf` that do what an example does: the operator first.
KOPF_PROGRAMS = {
    "custompod": ("custompod",),
    "project": ("project", "project_client"),
    "samplecontroller": ("foo",),
    "network": ("network",),
    "foobar": ("foobar",),
    "kubewatch": ("kubewatch", "kubewatch_config", "kubewatch_notification", "kubewatch_sinks"),
}
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_NOTHING = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(source: str) -> int:
    """Count the lines of a Python file that do something."""
    words = _docstring_lines(ast.parse(source))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NOTHING:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - words)


def _docstring_lines(tree: ast.Module) -> set[int]:
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node):
            words = node.body[0]
            found.update(range(words.lineno, (words.end_lineno or words.lineno) + 1))
    return found


def example_lines(name: str) -> int:
    """Count an example: its package, without tests."""
    return sum(code_lines(path.read_text()) for path in sorted((EXAMPLES / name / name).rglob("*.py")))


def kopf_lines(name: str) -> int:
    """Count what does the same as an example, written with kopf."""
    return sum(code_lines((KOPF / f"{program}.py").read_text()) for program in KOPF_PROGRAMS[name])


def go_lines(*files: str) -> int:
    """Count files in `bench/go`, where comments have lines of their own."""
    lines = (line.strip() for name in files for line in (GO / name).read_text().splitlines())
    return sum(bool(line) and not line.startswith("//") for line in lines)


def definition_lines(name: str) -> int:
    """Count the YAML of an example's definitions, each with its stored version alone and without descriptions."""
    operator = importlib.import_module(f"{name}.main").operator
    definitions = (_undescribed(with_one_version(obj)) for obj in definition_objects(operator))
    return sum(len(yaml.safe_dump(definition).splitlines()) for definition in definitions)


def with_one_version(definition: dict[str, Any]) -> dict[str, Any]:
    """Give a definition with its stored version alone: with kopf nobody converts to the others."""
    spec = {name: value for name, value in definition["spec"].items() if name != "conversion"}
    versions = [version for version in spec["versions"] if version["storage"]]
    return definition | {"spec": spec | {"versions": versions}}


def _undescribed(document: Any) -> Any:
    match document:
        case dict():
            return {name: _undescribed(value) for name, value in document.items() if name != "description"}
        case list():
            return [_undescribed(value) for value in document]
        case _:
            return document


def examples() -> list[str]:
    """Give the names of all examples."""
    return sorted(path.parent.name for path in EXAMPLES.glob("*/pyproject.toml"))


if __name__ == "__main__":
    for example in examples():
        sys.path.insert(0, str(EXAMPLES / example))
        beside = f"{kopf_lines(example):5} {definition_lines(example):5}" if example in KOPF_PROGRAMS else ""
        print(f"{example:20} {example_lines(example):5} {beside}")
