"""The one file of a project that `steer create api` edits: ``main.py``, where everything is registered.

Only the lines that list reconcilers and declared kinds are rewritten; what people added around them stays.
"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from steersman.errors import ConfigError

_WIDTH = 120


@dataclass(frozen=True, slots=True)
class Import:
    """``from module import name``."""

    module: str
    name: str


def register_reconciler(text: str, package: str, module: str) -> str:
    """Import a reconciler's module, which registers it, and list it; nothing changes if that is so already."""
    return register_module(text, package, "reconcilers", module)


def register_module(text: str, package: str, folder: str, module: str) -> str:
    """Import a module of a folder of the package, and list it; nothing changes if that is so already."""
    text = _import(text, Import(f"{package}.{folder}", module), after=f"{package}.operator")
    return _export(text, module)


def declare_kind(text: str, kind: Import, operator_module: str) -> str:
    """Declare a kind that has no reconciler; nothing changes if that is so already."""
    call = f"operator.declare({kind.name})"
    if call in text:
        return text
    text = _import(text, kind, after=operator_module)
    return f"{text.rstrip()}\n\n{call}\n" if "operator.declare(" not in text else f"{text.rstrip()}\n{call}\n"


def _import(text: str, wanted: Import, *, after: str) -> str:
    imports = [node for node in _parse(text).body if isinstance(node, ast.ImportFrom)]
    for node in imports:
        if node.module == wanted.module:
            names = sorted({*(alias.name for alias in node.names), wanted.name}, key=_import_order)
            return _replaced(text, node, _listed(f"from {wanted.module} import ", "()", names, quoted=False))
    anchor = next((node for node in imports if node.module == after), None)
    if anchor is None or anchor.end_lineno is None:
        raise ConfigError(
            f"main.py imports nothing from {after}: add 'from {wanted.module} import {wanted.name}' to it"
        )
    lines = text.splitlines()
    package = after.partition(".")[0]
    own = [node for node in imports if (node.module or "").partition(".")[0] == package]
    before = [node for node in own if (node.module or "") < wanted.module]
    at = (before[-1].end_lineno or 0) if before else own[0].lineno - 1
    return "\n".join([*lines[:at], f"from {wanted.module} import {wanted.name}", *lines[at:], ""])


def _export(text: str, name: str) -> str:
    for node in _parse(text).body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]:
            names = sorted({*ast.literal_eval(node.value), name})
            return _replaced(text, node, _listed("__all__ = ", "[]", names, quoted=True))
    raise ConfigError(f"main.py has no __all__: add {name!r} to what it exports")


def _import_order(name: str) -> tuple[int, str]:
    """Order names as linters want imports: constants, classes, the rest."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2, name)


def _listed(prefix: str, brackets: str, names: Sequence[str], *, quoted: bool) -> str:
    items = [f'"{name}"' for name in names] if quoted else list(names)
    opening, closing = brackets[0], brackets[1]
    bare = opening == "("
    one_line = prefix + (", ".join(items) if bare else f"{opening}{', '.join(items)}{closing}")
    if len(one_line) <= _WIDTH:
        return one_line
    return "\n".join([f"{prefix}{opening}", *(f"    {item}," for item in items), closing])


def _replaced(text: str, node: ast.stmt, new: str) -> str:
    lines = text.splitlines()
    return "\n".join([*lines[: node.lineno - 1], new, *lines[node.end_lineno :], ""])


def _parse(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise ConfigError(
            f"main.py, line {error.lineno}: {error.msg}: it must be correct before it is added to"
        ) from None
