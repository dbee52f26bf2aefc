"""Count the lines of code of each example: those that are not blank, not a comment and not part of a docstring.

``python -m tools.example_lines`` prints them, and beside them those of the same operator with kopf where one exists:
Python, and the YAML of the CRDs, which kopf does not generate.
"""

import ast
import importlib
import io
import sys
import tokenize
from pathlib import Path

import yaml

from steersman.json_types import JsonObject
from steersman.scaffold.manifests.plain import definition_objects
from steersman.testing import without_descriptions
from tools.examples import EXAMPLES, examples

KOPF = Path(__file__).parent.parent / "bench" / "kopf"
GO = Path(__file__).parent.parent / "bench" / "go"
#: Programs in `bench/kopf` that do what an example does, the operator first.
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
    """Return the number of lines of code in a Python file."""
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
    """Return the number of lines of code in an example's package, without tests."""
    return sum(code_lines(path.read_text()) for path in sorted((EXAMPLES / name / name).rglob("*.py")))


def kopf_lines(name: str) -> int:
    """Return the number of lines of code in the kopf version of an example."""
    return sum(code_lines((KOPF / f"{program}.py").read_text()) for program in KOPF_PROGRAMS[name])


def go_lines(*files: str) -> int:
    """Return the number of lines of code in files of `bench/go`, where comments have lines of their own."""
    lines = (line.strip() for name in files for line in (GO / name).read_text().splitlines())
    return sum(bool(line) and not line.startswith("//") for line in lines)


def definition_lines(name: str) -> int:
    """Return the number of YAML lines of an example's CRDs, with only the storage version and no descriptions."""
    operator = importlib.import_module(f"{name}.main").operator
    definitions = (without_descriptions(with_one_version(obj)) for obj in definition_objects(operator))
    return sum(len(yaml.safe_dump(definition).splitlines()) for definition in definitions)


def with_one_version(definition: JsonObject) -> JsonObject:
    """Return a CRD with only its storage version: kopf cannot convert to other versions."""
    spec = {name: value for name, value in definition["spec"].items() if name != "conversion"}
    versions = [version for version in spec["versions"] if version["storage"]]
    return definition | {"spec": spec | {"versions": versions}}


if __name__ == "__main__":
    for example in examples():
        sys.path.insert(0, str(EXAMPLES / example))
        beside = f"{kopf_lines(example):5} {definition_lines(example):5}" if example in KOPF_PROGRAMS else ""
        print(f"{example:20} {example_lines(example):5} {beside}")
