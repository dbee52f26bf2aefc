"""No handler may swallow a cancellation; linters do not check this."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = sorted(Path("src/steersman").rglob("*.py"))
#: Catching any of these catches CancelledError.
CATCHES_ALL = {"BaseException", "CancelledError", "asyncio.CancelledError"}

#: Functions that may catch everything, with the reason.
ALLOWED = {"text_of": "it only calls the __str__ of an exception: no cancellation can arrive there"}


def _names(caught: ast.expr | None) -> set[str]:
    match caught:
        case None:
            return {"BaseException"}
        case ast.Tuple(elts=several):
            return set().union(*map(_names, several))
        case _:
            return {ast.unparse(caught)}


def _keeps(handler: ast.ExceptHandler) -> bool:
    """Return whether a handler passes the cancellation on: it raises, or stores it for later."""
    if any(isinstance(node, ast.Raise) for node in ast.walk(ast.Module(handler.body, []))):
        return True
    return handler.name is not None and any(
        isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id == handler.name
        for node in ast.walk(ast.Module(handler.body, []))
    )


def _checked(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes outside of the allowed functions."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if not (isinstance(node, ast.FunctionDef) and node.name in ALLOWED):
            yield node
            waiting += ast.iter_child_nodes(node)


def swallowed(text: str) -> Iterator[int]:
    """Yield the lines of handlers and `suppress` calls that would swallow a cancellation."""
    if "except" not in text and "suppress" not in text:
        return
    for node in _checked(ast.parse(text)):
        if isinstance(node, ast.ExceptHandler) and _names(node.type) & CATCHES_ALL and not _keeps(node):
            yield node.lineno
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress"):
            caught = set().union(*map(_names, node.args))
            if caught & CATCHES_ALL:
                yield node.lineno


def test_no_module_swallows_a_cancellation() -> None:
    """Cancellation is the only stop signal: code that swallows it makes a task that cannot be stopped."""
    assert len(SOURCES) > 500
    assert [f"{source}:{line}" for source in SOURCES for line in swallowed(source.read_text())] == []


@pytest.mark.parametrize(
    "guilty",
    [
        "try: ...\nexcept asyncio.CancelledError: pass",
        "try: ...\nexcept BaseException: log()",
        "try: ...\nexcept: pass",
        "try: ...\nexcept (ValueError, asyncio.CancelledError): return",
        "with contextlib.suppress(asyncio.CancelledError): ...",
    ],
)
def test_the_check_finds_a_swallowed_cancellation(guilty: str) -> None:
    """A check that finds nothing proves nothing."""
    assert list(swallowed(guilty))


def test_the_check_allows_handlers_that_raise_again() -> None:
    """Cleaning up and raising again is what a handler is for."""
    assert list(swallowed("try: ...\nexcept BaseException:\n  clean()\n  raise")) == []
