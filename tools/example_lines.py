"""Counts what somebody had to write for each example: lines of code that are neither blank, nor comment, nor docstring.

python -m tools.example_lines
"""

import ast
import io
import tokenize
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "examples"
KOPF = Path(__file__).parent.parent / "bench" / "kopf"
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


def examples() -> list[str]:
    """Give the names of all examples."""
    return sorted(path.parent.name for path in EXAMPLES.glob("*/pyproject.toml"))


if __name__ == "__main__":
    for example in examples():
        print(f"{example:20} {example_lines(example):5}")
