"""Builds the checks of whole values from a schema: types, objects, lists and the combinations of schemas.

Every node becomes a table from the Python class of a value to the check of such values; where nothing can be wrong
there is no check and nothing is called. So the common case, a valid value, costs two look-ups per field.
"""

from collections.abc import Callable
from typing import Any

from steersman.json_types import JsonObject
from steersman.structural.checks.relative_errors import Check, MessageStyle, RelativeError, gather
from steersman.structural.checks.type_checks import JSON_TYPES, NULL, type_check
from steersman.structural.checks.value_checks import (
    all_of,
    enum_check,
    format_check,
    number_check,
    quick_integer,
    quick_text,
    text_check,
)
from steersman.structural.schema import Structural
from steersman.validation.field_errors import ErrorType, too_many

#: The check for each class of values; `None` where nothing can be wrong.
Table = dict[type, Check | None]

#: Runs a schema on a value: plainly, or with an old value beside it.
Run = Callable[[Structural, Any], list[RelativeError] | None]


def _anywhere(detail: str) -> RelativeError:
    return RelativeError(ErrorType.INVALID, "", f'"\0" {detail}', MessageStyle.ANYWHERE)


def object_size_check(node: Structural) -> Check | None:
    """Check the number of fields of an object."""
    fewest, most = node.schema.get("minProperties"), node.schema.get("maxProperties")
    if fewest is None and most is None:
        return None

    def check(value: JsonObject) -> list[RelativeError] | None:
        size = len(value)
        if fewest is not None and size < fewest:
            return [RelativeError(ErrorType.INVALID, size, f"should have at least {fewest} properties")]
        if most is not None and size > most:
            return [RelativeError(ErrorType.TOO_MANY, size, too_many("", size, most).detail, MessageStyle.BESIDE)]
        return None

    return check


def list_size_check(node: Structural) -> Check | None:
    """Check the number of items of a list."""
    fewest, most = node.schema.get("minItems"), node.schema.get("maxItems")
    if not fewest and most is None:
        return None

    def check(value: list[object]) -> list[RelativeError] | None:
        size = len(value)
        if fewest and size < fewest:
            return [RelativeError(ErrorType.INVALID, size, f"should have at least {fewest} items")]
        if most is not None and size > most:
            return [RelativeError(ErrorType.TOO_MANY, size, too_many("", size, most).detail, MessageStyle.BESIDE)]
        return None

    return check


def missing_fields(required: tuple[str, ...], value: JsonObject) -> list[RelativeError]:
    """Return errors about the required fields that an object lacks."""
    found = []
    for name in required:
        if name not in value:
            error = RelativeError(ErrorType.REQUIRED, "", "", MessageStyle.BESIDE)
            error.steps.append(name)
            found.append(error)
    return found


def undeclared_fields(node: Structural, value: JsonObject) -> list[RelativeError]:
    """Return errors about fields that an object has though its schema forbids undeclared ones."""
    return [
        RelativeError(ErrorType.INVALID, name, f"\0.{name} in body is a forbidden property", MessageStyle.BESIDE)
        for name in value
        if name not in node.properties
    ]


def _unchecked_class(table: Table) -> type | None:
    """Return the class of values that need no check, if there is exactly one: usually that of the field's type."""
    free = [cls for cls, check in table.items() if check is None]
    return free[0] if len(free) == 1 else None


def _each_field_check(node: Structural, tables: dict[str, Table], required: tuple[str, ...]) -> Check | None:
    """Build the check that the fields of an object are there, and of the values under them."""
    find = tables.get
    others = table_of(node.values) if node.values is not None else None
    if not tables and others is None and not required:
        return None

    def check(value: JsonObject) -> list[RelativeError] | None:
        found: list[RelativeError] | None = None
        for name in required:
            if name not in value:
                found = missing_fields(required, value)
                break
        for name, child in value.items():
            table = find(name, others)
            if (
                table is not None
                and (inner_check := table[child.__class__]) is not None
                and (bad := inner_check(child))
            ):
                found = gather(found, bad, name)
        return found

    return check


def _only_class(tables: dict[str, Table]) -> type | None:
    """Return the one class that all fields of an object take without a check; ``None`` if they differ."""
    classes = {_unchecked_class(table) for table in tables.values()}
    return classes.pop() if len(classes) == 1 else None


def _uniform_check(only: type, required: tuple[str, ...], each: Check) -> Check:
    """Return a check with a quick test in front, for an object whose fields all have the same plain type."""

    def check(value: JsonObject) -> list[RelativeError] | None:
        for child in value.values():
            if child.__class__ is not only:
                return each(value)
        for name in required:
            if name not in value:
                return each(value)
        return None

    return check


def _fields_check(node: Structural) -> Check | None:
    required = tuple(node.schema.get("required") or ())
    tables = {name: table_of(child) for name, child in node.properties.items()}
    each = _each_field_check(node, tables, required)
    if each is not None and node.values is None and (only := _only_class(tables)) is not None:
        each = _uniform_check(only, required, each)
    if node.additional is not False:
        return each
    closing: list[Check] = [lambda value: undeclared_fields(node, value)]
    return all_of([*closing, *([each] if each is not None else ())])


def _object_check(node: Structural) -> Check | None:
    size = object_size_check(node)
    fields = _fields_check(node)
    return all_of([check for check in (size, fields) if check is not None])


def _items_check(node: Structural) -> Check | None:
    if node.items is None:
        return None
    table = table_of(node.items)
    if not any(table.values()):
        return None

    def check(value: list[object]) -> list[RelativeError] | None:
        found: list[RelativeError] | None = None
        for index, item in enumerate(value):
            inner_check = table[item.__class__]
            if inner_check is not None and (bad := inner_check(item)):
                found = gather(found, bad, index)
        return found

    return check


def match_count(node: Structural, value: object) -> int:
    """Count the successful checks, as the OpenAPI library does to choose whose errors to show."""
    if value is None:
        return 0
    count = 1
    if value.__class__ in (int, float):
        count += 1
    elif value.__class__ is list:
        count += 1 + (sum(match_count(node.items, item) for item in value) if node.items else 0)
    elif value.__class__ is dict:
        for name, item in value.items():
            child = node.child(name)
            count += match_count(child, item) if child is not None else 0
    for part in node.all_of:
        count += match_count(part, value)
    return count


def _best(
    alternatives: tuple[Structural, ...], value: object, results: list[list[RelativeError]]
) -> list[RelativeError]:
    counts = [match_count(node, value) for node in alternatives]
    return results[counts.index(max(counts))]


def _any_of(node: Structural, value: object, run: Run) -> list[RelativeError]:
    results = []
    for part in node.any_of:
        found = run(part, value)
        if not found:
            return []
        results.append(found)
    return [_anywhere("must validate at least one schema (anyOf)"), *_best(node.any_of, value, results)]


def _one_of(node: Structural, value: object, run: Run) -> list[RelativeError]:
    results = [run(part, value) or [] for part in node.one_of]
    good = sum(not found for found in results)
    if good == 1:
        return []
    if good:
        return [_anywhere(f"must validate one and only one schema (oneOf). Found {good} valid alternatives")]
    none = _anywhere("must validate one and only one schema (oneOf). Found none valid")
    return [none, *_best(node.one_of, value, results)]


def _all_of(node: Structural, value: object, run: Run) -> list[RelativeError]:
    results = [run(part, value) or [] for part in node.all_of]
    good = sum(not found for found in results)
    if good == len(results):
        return []
    text = "must validate all the schemas (allOf)" + ("" if good else ". None validated")
    return [*(error for found in results for error in found), _anywhere(text)]


def combination_errors(node: Structural, value: object, run: Run) -> list[RelativeError]:
    """Return the errors of `anyOf`, `oneOf`, `allOf` and `not` about a value."""
    found: list[RelativeError] = []
    if node.any_of:
        found += _any_of(node, value, run)
    if node.one_of:
        found += _one_of(node, value, run)
    if node.all_of:
        found += _all_of(node, value, run)
    if node.negated is not None and not run(node.negated, value):
        found.append(_anywhere("must not validate the schema (not)"))
    return found


def _combination_check(node: Structural) -> Check | None:
    if not (node.any_of or node.one_of or node.all_of or node.negated is not None):
        return None
    parts = (*node.any_of, *node.one_of, *node.all_of, *((node.negated,) if node.negated is not None else ()))
    tables = {id(part): table_of(part) for part in parts}

    def run(part: Structural, value: object) -> list[RelativeError] | None:
        check = tables[id(part)][value.__class__]
        return check(value) if check is not None else None

    return lambda value: combination_errors(node, value, run) or None


def scalar_checks(node: Structural, cls: type) -> list[Check | None]:
    """Return the checks of a node for values of a class that do not look inside them."""
    checks: list[Check | None] = [type_check(node, cls), enum_check(node)]
    if cls in (int, float):
        checks.append(number_check(node, cls))
    elif cls is str:
        checks += [text_check(node), format_check(node)]
    return checks


_QUICK: dict[type, Callable[[Structural, Check], Check]] = {str: quick_text, int: quick_integer}


def _quickened(node: Structural, cls: type, check: Check | None, combination: Check | None) -> Check | None:
    """Return the checks of a class with a single fast test in front, where one exists."""
    if check is None or combination is not None or JSON_TYPES[cls] not in node.types or cls not in _QUICK:
        return check
    return _QUICK[cls](node, check)


def table_of(node: Structural) -> Table:
    """Build the checks of a node for every class of values."""
    combination = _combination_check(node)
    table: Table = {}
    for cls in JSON_TYPES:
        checks = scalar_checks(node, cls)
        if cls is dict:
            checks.append(_object_check(node))
        elif cls is list:
            checks += [list_size_check(node), _items_check(node)]
        if cls is not NULL:
            checks.append(combination)
        table[cls] = _quickened(node, cls, all_of([check for check in checks if check is not None]), combination)
    return table
