"""Rules for every test of this repository."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]


def _waiting_tests() -> Iterator[tuple[Path, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield the tests of all files in which there is a bare wait."""
    for folder in ("tests", "examples"):
        for path in sorted((ROOT / folder).rglob("test_*.py")):
            text = path.read_text(encoding="utf-8")
            if ".wait()" not in text:
                continue
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                    yield path, node


def _last(statements: list[ast.stmt]) -> ast.stmt:
    last = statements[-1]
    if isinstance(last, ast.With | ast.AsyncWith | ast.For | ast.AsyncFor | ast.Try | ast.If):
        return _last(last.body)
    return last


def _is_bare_wait(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Await(value=ast.Call(func=ast.Attribute(attr="wait"), args=[]))):
            return True
        case _:
            return False


def test_no_test_ends_in_a_bare_wait() -> None:
    """Such a test can only pass or hang: ``tests.support.waiting.happens`` fails instead."""
    tests = list(_waiting_tests())
    assert len(tests) > 100
    bare = [f"{path.relative_to(ROOT)}: {test.name}" for path, test in tests if _is_bare_wait(_last(test.body))]
    assert bare == []


def test_a_bare_wait_is_recognised() -> None:
    """The rule above must be able to fail."""
    text = "async def test_it():\n    async with x:\n        await event.wait()\n"
    (function,) = ast.parse(text).body
    assert isinstance(function, ast.AsyncFunctionDef)
    assert _is_bare_wait(_last(function.body))


#: Folders whose helpers others may use: shared ones, and the recordings of real servers.
_SHARED = frozenset({"support", "contract"})


def test_helpers_that_several_folders_use_are_in_support() -> None:
    """There they are found, and are not changed for one folder alone."""
    found = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        folder = path.relative_to(ROOT / "tests").parts[0]
        text = path.read_text(encoding="utf-8")
        if "from tests." not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests."):
                source = (node.module or "").split(".")[1]
                if source not in {folder, *_SHARED}:
                    found.append(f"{path.relative_to(ROOT)}: {node.module}")
    assert found == []


#: Folders that test the whole rather than one room, and what they read or share.
_WHOLE = frozenset(
    {
        "architecture",
        "contract",
        "examples",
        "faults",
        "fuzz",
        "golden",
        "guides",
        "secrets",
        "support",
        "tools",
        "typing",
    }
)
#: Folders without a counterpart in the source: they test a package from outside, or contain data.
_INSIDE = frozenset({"apiserver/concurrency", "client/real_clients", "simulation/patterns", "webview/browser"})


def test_folders_of_tests_are_named_like_the_rooms_they_test() -> None:
    """A reader who knows where the code is knows where its tests are."""
    found = set()
    for path in (ROOT / "tests").rglob("*.py"):
        folder = path.parent.relative_to(ROOT / "tests")
        is_whole = folder.parts[:1] in {(), *((name,) for name in _WHOLE)}
        is_inside = any(folder.is_relative_to(inside) for inside in _INSIDE)
        if not (is_whole or is_inside or (ROOT / "src/steersman" / folder).is_dir()):
            found.add(str(folder))
    assert found == set()
