"""The one file of a project that `steer create api` edits: ``main.py``, where everything is registered.

Only the lines that list reconcilers and declared kinds are rewritten; everything else in the file stays.
"""

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from steersman.errors import ConfigError

_WIDTH = 120


@dataclass(frozen=True, slots=True)
class Import:
    """``from module import name``, or ``from module import name as alias``."""

    module: str
    name: str
    alias: str = ""

    @property
    def bound(self) -> str:
        """The name that the code below the import uses."""
        return self.alias or self.name

    def __str__(self) -> str:
        name = f"{self.name} as {self.alias}" if self.alias else self.name
        return _listed(f"from {self.module} import ", "()", [name], quoted=False)


def register_reconciler(text: str, package: str, module: str) -> str:
    """Return ``main.py`` with a reconciler's module imported, which registers it; unchanged if it is already there."""
    return register_module(text, package, "reconcilers", module)


def register_module(text: str, package: str, folder: str, module: str) -> str:
    """Return ``main.py`` with a module of a folder of the package imported and exported; unchanged if it already is."""
    text = _import(text, Import(f"{package}.{folder}", module), after=f"{package}.operator")
    return _export(text, module)


def declare_kind(text: str, kind: Import, operator_module: str) -> str:
    """Return ``main.py`` with a kind declared that has no reconciler; unchanged if it is already declared."""
    call = f"operator.declare({kind.bound})"
    if call in text:
        return text
    text = _import(text, kind, after=operator_module)
    return f"{text.rstrip()}\n\n{call}\n" if "operator.declare(" not in text else f"{text.rstrip()}\n{call}\n"


def _import(text: str, wanted: Import, *, after: str) -> str:
    imports = [node for node in _parse(text).body if isinstance(node, ast.ImportFrom)]
    for node in imports:
        if node.module == wanted.module and not wanted.alias:
            names = sorted({*(alias.name for alias in node.names), wanted.name}, key=_import_order)
            return _replaced(text, node, _listed(f"from {wanted.module} import ", "()", names, quoted=False))
    anchor = next((node for node in imports if node.module == after), None)
    if anchor is None or anchor.end_lineno is None:
        raise ConfigError(f"main.py imports nothing from {after}: add '{wanted}' to it")
    lines = text.splitlines()
    package = after.partition(".")[0]
    own = [node for node in imports if (node.module or "").partition(".")[0] == package]
    before = [node for node in own if natural_order(node.module or "") < natural_order(wanted.module)]
    at = (before[-1].end_lineno or 0) if before else own[0].lineno - 1
    return "\n".join([*lines[:at], str(wanted), *lines[at:], ""])


def _export(text: str, name: str) -> str:
    for node in _parse(text).body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]:
            names = sorted({*ast.literal_eval(node.value), name}, key=natural_order)
            return _replaced(text, node, _listed("__all__ = ", "[]", names, quoted=True))
    raise ConfigError(f"main.py has no __all__: add {name!r} to what it exports")


def natural_order(name: str) -> tuple[tuple[int, str], ...]:
    """Return a sort key that orders names as import linters do: numbers by their value, so ``v2`` before ``v10``."""
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name) if part)


def _import_order(name: str) -> tuple[int, tuple[tuple[int, str], ...]]:
    """Return a sort key that orders names as linters want imports: constants, classes, the rest."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2, natural_order(name))


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
