"""Checks that defaults are valid by their own schemas."""

import re
from dataclasses import replace

from steersman.errors import DecodeError
from steersman.json_types import JsonObject, copied
from steersman.structural.checks.embedded import embedded_check
from steersman.structural.checks.walks import walk_of
from steersman.structural.compiled import CompiledSchema
from steersman.structural.pruning import MalformedResourceError, coerce_of
from steersman.structural.schema import META_FIELDS, Structural, parse_schema
from steersman.validation.field_errors import NO_FIELD, FieldError, invalid

#: Message about a number that does not fit its type, with the path at the end.
_MISFIT = re.compile(r"(\w+ value must be of type .* in )(\w.*)")


def _as_for_defaults(node: Structural) -> None:
    """Enforce unknown formats, and let int-or-string nodes take anything, as the server does for defaults."""
    for part in node.walk():
        part.format = part.schema.get("format") or ""
        if part.schema.get("x-kubernetes-int-or-string"):
            part.types = ()


def _under(error: FieldError, path: str) -> FieldError:
    if error.field == NO_FIELD:
        return replace(error, field=path)
    return replace(error, field=f"{path}{'' if error.field.startswith('[') else '.'}{error.field}")


def _dotted(error: FieldError, path: str) -> FieldError:
    """Return the error of a value inside a default that is a map, with a path as for something without a name."""
    place = error.field.removeprefix(f"{path}.")
    if found := _MISFIT.fullmatch(error.detail):
        return replace(error, detail=f"{found[1]}.{found[2]}")
    return replace(error, detail=f".{error.detail}") if error.detail.startswith(f"{place} in body") else error


def _default_errors(node: Structural, path: str) -> list[FieldError]:
    value = copied(node.default)
    compiled = CompiledSchema(node, is_root=False)
    errors = []
    if compiled.unknown_fields(value):
        errors.append(invalid(path, node.default, "must not have unknown fields"))
    value = copied(node.default)
    coerce, embedded = coerce_of(node), walk_of(node, embedded_check)
    try:
        if coerce is not None:
            coerce(value, path)
    except MalformedResourceError as malformed:
        return [*errors, malformed.error]
    found = [error.error(path) for error in (embedded(value) if embedded is not None else None) or ()]
    if found:
        return errors + found
    found = compiled.value_errors(value, base=path)
    if found:
        return errors + ([_dotted(error, path) for error in found] if node.values is not None else found)
    # A default is its own old value to rules that need one, and has none for those where it is optional.
    broken = [rule.error for rule in compiled.broken_rules(value)]
    beside = [rule.error for rule in compiled.broken_rules(value, value) if not rule.unchanged]
    broken += [error for error in beside if error not in broken]
    return errors + [_under(error, path) for error in broken]


def _walk(node: Structural, path: str, *, inside_metadata: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    if node.embedded:
        inside_metadata = False
    if node.default is not None:
        where = f"{path}.default"
        if inside_metadata:
            errors += CompiledSchema(node, is_root=False).value_errors(node.default, base=where)
        else:
            errors += _default_errors(node, where)
    if node.items is not None:
        errors += _walk(node.items, f"{path}.items", inside_metadata=inside_metadata)
    for name, child in node.properties.items():
        meta = inside_metadata or (node.embedded and name in META_FIELDS)
        errors += _walk(child, f"{path}.properties[{name}]", inside_metadata=meta)
    return errors


def default_errors(schema: JsonObject, path: str) -> list[FieldError]:
    """Return errors about defaults of a structural schema that break their own rules.

    Defaults of map values are skipped, as on the server.
    """
    node = parse_schema(schema)
    node.embedded = True
    _as_for_defaults(node)
    try:
        return _walk(node, path, inside_metadata=False)
    except DecodeError:
        # A schema that does not compile has been complained about already.
        return []
