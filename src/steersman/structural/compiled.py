"""`CompiledSchema`: one schema, ready to prune, default and validate objects.

Compiled once, used for every object of a version. It works on plain JSON values and changes them in place: pass a value
that was decoded for this purpose. Nesting too deep for Python's stack raises `DecodeError`.
"""

from collections.abc import Sequence
from typing import Any, final

from steersman.errors import DecodeError
from steersman.json_types import ABSENT, JsonObject
from steersman.structural.checks.embedded import embedded_check
from steersman.structural.checks.list_types import list_type_check
from steersman.structural.checks.object_checks import table_of
from steersman.structural.checks.relative_errors import Check, RelativeError
from steersman.structural.checks.walks import walk_of
from steersman.structural.defaulting import fill_of
from steersman.structural.plain_type import Plain
from steersman.structural.pruning import coerce_of, paths_of, prune_table
from steersman.structural.ratcheting import Ratchet
from steersman.structural.rules import BrokenRule, rule_tree
from steersman.structural.schema import Structural, parse_schema
from steersman.validation.field_errors import NO_FIELD, ErrorType, FieldError, ValidationResult, invalid

#: After these errors the rules are not run, because the object may not have the expected types.
_BLOCKING = frozenset(
    {
        ErrorType.NOT_SUPPORTED,
        ErrorType.REQUIRED,
        ErrorType.TOO_LONG,
        ErrorType.TOO_MANY,
        ErrorType.TYPE_INVALID,
    }
)
_NOT_CHECKED = invalid(
    NO_FIELD,
    None,
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete "
    "validation",
)
_TOO_DEEP = "the object nests too deeply"


def _errors(found: list[RelativeError] | None, base: str = "") -> list[FieldError]:
    return [error.error(base) for error in found] if found else []


def _run(check: Check | None, value: object) -> list[FieldError]:
    return _errors(check(value)) if check is not None else []


@final
class CompiledSchema:
    """The schema of one version of a kind, or of a part of it; see `compile_schema`."""

    def __init__(self, node: Structural, *, is_root: bool) -> None:
        self.node = node
        self._table = table_of(node)
        self._prune = prune_table(node)
        self._plain = Plain(node, is_root=is_root)
        self._is_root = is_root
        self._coerce = coerce_of(_children_of(node)) if is_root else coerce_of(node)
        self._fill = fill_of(node)
        self._embedded = walk_of(_children_of(node) if is_root else node, embedded_check)
        self._unique = walk_of(node, list_type_check)
        self._rules = rule_tree(node, is_root=is_root)
        self._ratchet = Ratchet()

    def prune(self, obj: object) -> list[str]:
        """Drop unknown fields, and nulls where null is not a value, in place; return the paths of the unknown fields.

        `metadata` of embedded resources is read as a typed structure; raises `DecodeError` for a wrong type in it.
        """
        try:
            unknown = self.unknown_fields(obj)
            return unknown + sorted(self._coerce(obj, "")) if self._coerce is not None else unknown
        except RecursionError:
            raise DecodeError(_TOO_DEEP) from None

    def unknown_fields(self, obj: object) -> list[str]:
        """Drop unknown fields and invalid nulls in place, and return their paths, without reading embedded metadata."""
        if self._plain.holds(obj):
            return []
        prune = self._prune.get(obj.__class__)
        return paths_of(prune(obj)) if prune is not None else []

    def default(self, obj: object) -> None:
        """Fill in defaults in place."""
        if self._fill is not None:
            self._fill(obj)

    def validate(
        self, obj: Any, old: object = ABSENT, *, status_only: bool = False, earlier: Sequence[FieldError] = ()
    ) -> ValidationResult:
        """Check an object; with ``old`` beside it, what did not change is not complained about.

        ``status_only`` is the check of a write to `/status`: the schema of the status alone, and the rules of the whole
        object. Errors that were found ``earlier``, in the metadata, are part of the verdict.
        """
        try:
            errors = [*earlier]
            if status_only:
                errors += self._status_errors(obj, old)
            else:
                errors += self.value_errors(obj, old)
            errors += _run(self._embedded, obj)
            if self._unique is not None and (old is ABSENT or not self._unique(old)):
                errors += _run(self._unique, obj)
            return self.check_rules(obj, old, errors)
        except RecursionError:
            raise DecodeError(_TOO_DEEP) from None

    def value_errors(self, obj: object, old: object = ABSENT, base: str = "") -> list[FieldError]:
        """Check types, values, required fields and combinations; the errors are named from ``base`` on."""
        if self._plain.holds(obj):
            return []
        check = self._table[obj.__class__]
        found = check(obj) if check is not None else None
        if found and old is not ABSENT:
            found = self._ratchet.errors(self.node, obj, old, is_root=self._is_root)
        return _errors(found, base)

    def _status_errors(self, obj: JsonObject, old: Any) -> list[FieldError]:
        node = self.node.properties.get("status")
        if node is None or "status" not in obj:
            return []
        # An absent status counts as null, and an unchanged null is not an error.
        old_status = ABSENT if old is ABSENT else old.get("status")
        return _errors(self._ratchet.errors(node, obj["status"], old_status), "status")

    def check_rules(self, obj: object, old: object, errors: list[FieldError]) -> ValidationResult:
        """Run the rules, unless errors that were found before forbid it."""
        if self._rules is None:
            return ValidationResult(errors, [])
        if errors and any(error.type in _BLOCKING for error in errors):
            return ValidationResult([*errors, _NOT_CHECKED], [])
        broken = self.broken_rules(obj, old)
        if not broken:
            return ValidationResult(errors, [])
        refused = [rule.error for rule in broken if not rule.unchanged]
        return ValidationResult([*errors, *refused], [str(rule.error) for rule in broken if rule.unchanged])

    def broken_rules(self, obj: object, old: object = ABSENT) -> list[BrokenRule]:
        """Run the rules alone."""
        return self._rules.check(obj, old) if self._rules is not None else []


def _children_of(node: Structural) -> Structural:
    """Return the root as the server sees it where it looks for embedded resources: not as one itself."""
    return Structural(
        node.schema, properties=node.properties, additional=node.additional, items=node.items, embedded=False
    )


def compile_schema(schema: JsonObject, *, is_root: bool = True) -> CompiledSchema:
    """Compile a schema of a CustomResourceDefinition.

    ``is_root`` means that it is the schema of a whole object: `apiVersion`, `kind` and `metadata` are then known.
    Raises `DecodeError` for patterns that do not compile and for schemas that nest too deeply.
    """
    node = parse_schema(schema)
    if is_root:
        node.embedded = True
    return CompiledSchema(node, is_root=is_root)
