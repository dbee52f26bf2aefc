"""Writes a module's outline as Python source, in the form that ``ruff format`` leaves alone.

The texts in an outline are not trusted: they appear only inside literals and docstrings that are escaped here;
names were made plain identifiers by ``naming``.
"""

import textwrap
from collections.abc import Iterator

from steersman.codegen.naming import needs_wire_name
from steersman.codegen.outline import ClassOutline, FieldOutline, Import, ModuleOutline
from steersman.errors import DeclarationError
from steersman.objects.identity import ApiResource

_WIDTH = 120
_INDENT = "    "
_STANDARD_LIBRARY = frozenset({"datetime", "typing"})


def quoted(text: str) -> str:
    """Return a string literal, in double quotes, for exactly this text, with escapes for invisible characters."""
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def docstring(text: str, indent: str) -> list[str]:
    """Return the lines of a docstring; paragraphs are wrapped, and nothing in them can end the docstring."""
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n")]
    escaped = ["".join(map(_escaped, paragraph)) for paragraph in paragraphs if paragraph]
    if not escaped:
        return []
    width = _WIDTH - len(indent)
    if len(escaped) == 1 and len(escaped[0]) <= width - 2 * len('"""'):
        return [f'{indent}"""{escaped[0]}"""']
    first, *rest = (
        textwrap.wrap(paragraph, width - len('"""'), break_long_words=False, break_on_hyphens=False)
        for paragraph in escaped
    )
    lines = [f'{indent}"""{first[0]}', *(indent + line for line in first[1:])]
    for paragraph in rest:
        lines += ["", *(indent + line for line in paragraph)]
    return [*lines, f'{indent}"""']


def _default(outline: FieldOutline) -> str:
    zero = {"int": "0", "bool": "False", "str": '""', "float": "0.0"}
    name = f"name={quoted(outline.wire)}" if needs_wire_name(outline.name, outline.wire) else ""
    match outline.presence:
        case "required":
            return f"field({name})" if name else ""
        case "optional":
            return f"field(default=None, {name})" if name else "None"
        case "zero":
            default = zero[outline.annotation.text]
            return f"field(default={default}, {name})" if name else default
        case "absent":
            return "absent()"


def _field(outline: FieldOutline) -> Iterator[str]:
    declared = f"{_INDENT}{outline.name}: {outline.annotation.text}"
    default = _default(outline)
    if not default:
        yield declared
    elif len(line := f"{declared} = {default}") <= _WIDTH or not default.startswith("field("):
        yield line
    else:
        yield f"{declared} = field("
        yield f"{_INDENT * 2}{default.removeprefix('field(').removesuffix(')')}"
        yield f"{_INDENT})"
    yield from docstring(outline.description, _INDENT)


def _texts(values: tuple[str, ...]) -> str:
    return f"({', '.join(map(quoted, values))}{',' if len(values) == 1 else ''})"


def _subresources(names: list[str]) -> Iterator[str]:
    line = f"        subresources=frozenset({{{', '.join(map(quoted, names))}}}),"
    if len(line) <= _WIDTH:
        yield line
        return
    yield "        subresources=frozenset("
    yield "            {"
    yield from (f"                {quoted(name)}," for name in names)
    yield "            }"
    yield "        ),"


def _declaration(resource: ApiResource) -> Iterator[str]:
    gvk = ", ".join(map(quoted, resource.gvk))
    yield "@declare("
    yield "    ApiResource("
    yield f"        gvk=GroupVersionKind({gvk}),"
    yield f"        plural={quoted(resource.plural)},"
    yield f"        singular={quoted(resource.singular)},"
    yield f"        namespaced={resource.namespaced},"
    if resource.short_names:
        yield f"        short_names={_texts(resource.short_names)},"
    if resource.categories:
        yield f"        categories={_texts(resource.categories)},"
    if resource.subresources:
        yield from _subresources(sorted(resource.subresources))
    yield "    )"
    yield ")"


def _class(outline: ClassOutline) -> Iterator[str]:
    if outline.resource is not None:
        yield from _declaration(outline.resource)
    yield f"class {outline.name}({'Model' if outline.resource is None else 'KubeObject'}):"
    described = docstring(outline.description, _INDENT)
    yield from described
    if described and outline.fields:
        yield ""
    for part in outline.fields:
        yield from _field(part)
    if not described and not outline.fields:
        yield f"{_INDENT}pass"


def _imports_of_class(outline: ClassOutline) -> Iterator[Import]:
    yield from (needed for part in outline.fields for needed in part.annotation.imports)
    defaults = [_default(part) for part in outline.fields]
    for helper in ("absent", "field"):
        if any(default.startswith(f"{helper}(") for default in defaults):
            yield "steersman.objects.model", helper
    if outline.resource is None:
        yield "steersman.objects.model", "Model"
    else:
        yield "steersman.objects.identity", "ApiResource"
        yield "steersman.objects.identity", "GroupVersionKind"
        yield "steersman.objects.registry", "declare"
        yield "steersman.objects.resource", "KubeObject"


def _in_import_order(name: str) -> tuple[int, str, str]:
    """Return the sort key of import sorters: constants, classes, functions, each without regard to case."""
    rank = 0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2
    return rank, name.lower(), name


def _imported(outline: ModuleOutline) -> dict[str, set[str]]:
    """Return the imports of a module by their source; raise if two of them have the same name."""
    origins = {cls.name: outline.name for cls in outline.classes}
    by_module: dict[str, set[str]] = {}
    for cls in outline.classes:
        for module, name in _imports_of_class(cls):
            if origins.setdefault(name, module) != module:
                raise DeclarationError(f"{outline.name}: {name} is both in {module} and in {origins[name]}")
            if module != outline.name:
                by_module.setdefault(module, set()).add(name)
    return by_module


def _imports(outline: ModuleOutline) -> Iterator[str]:
    by_module = _imported(outline)
    for standard in (True, False):
        chosen = sorted(module for module in by_module if (module in _STANDARD_LIBRARY) is standard)
        for module in chosen:
            names = sorted(by_module[module], key=_in_import_order)
            line = f"from {module} import {', '.join(names)}"
            if len(line) <= _WIDTH:
                yield line
            else:
                yield f"from {module} import ("
                yield from (f"{_INDENT}{name}," for name in names)
                yield ")"
        if chosen:
            yield ""


def source_of(outline: ModuleOutline, made_from: str) -> str:
    """Return the source of a module; its first line names the generator and its input."""
    origin = "".join(map(_escaped, " ".join(made_from.split())))
    lines = [f"# Generated by {origin}. Do not edit.", *docstring(outline.description, ""), ""]
    lines += ["from __future__ import annotations", "", *_imports(outline)]
    for cls in outline.classes:
        lines += ["", *_class(cls), ""]
    return "\n".join(lines).rstrip("\n") + "\n"
