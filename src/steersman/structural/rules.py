"""The CEL rules of a whole schema: which rule runs on which value, with which old value, within one budget.

The rules themselves are compiled and run by `schema.cel`. Rules do not run on nulls, nor inside values that the schema
does not describe.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from steersman.json_types import ABSENT, JsonObject
from steersman.structural.checks.relative_errors import MapKey, path_text
from steersman.structural.ratcheting import old_field, old_items, same
from steersman.structural.schema import Structural
from steersman.validation.field_errors import NO_FIELD, OMITTED, ErrorType, FieldError

if TYPE_CHECKING:
    from steersman.cel import Budget
    from steersman.structural.cel_rules import CompiledRules, RuleError, RuleFailure


_TYPES = {type_.value[1]: type_ for type_ in ErrorType}


def error_of(found: "RuleFailure | RuleError", path: str) -> FieldError:
    """Return the error of a rule that is broken, or that does not compile, at a place."""
    type_ = _TYPES[found.reason]
    detail = found.message.removeprefix(type_.value[0]).removeprefix(": ")
    where = f"{path}{found.field}" if path else found.field.removeprefix(".")
    return FieldError(type_, where or NO_FIELD, OMITTED, detail)


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """A rule that a value breaks."""

    error: FieldError
    #: The value is unchanged: the server warns, but does not reject it.
    unchanged: bool


@dataclass(slots=True)
class RuleTree:
    """The rules of a node and of the nodes inside; branches without rules are left out."""

    node: Structural
    #: What the rules of one object may cost together.
    new_budget: "Callable[[], Budget]"
    rules: "CompiledRules | None" = None
    fields: dict[str, "RuleTree"] = field(default_factory=dict)
    others: "RuleTree | None" = None
    items: "RuleTree | None" = None
    #: Whether values are whole objects, which are never as they were stored: each write changes their metadata.
    is_root: bool = False

    def check(self, value: object, old: object) -> list[BrokenRule]:
        """Run the rules on an object and inside it."""
        found: list[BrokenRule] = []
        self._visit(value, old, self.new_budget(), (), found.append)
        return found

    def _visit(
        self,
        value: object,
        old: object,
        budget: "Budget",
        steps: tuple[str | int, ...],
        report: Callable[[BrokenRule], None],
    ) -> None:
        if value is None:
            return
        if self.rules is not None:
            if self.rules.errors:
                self._report_unusable(self.rules, steps, report)
            failures = self.rules.check(value, None if old is ABSENT else old, budget=budget)
            if failures:
                self._report_broken(
                    failures, not self.is_root and old is not ABSENT and same(value, old), steps, report
                )
        if value.__class__ is dict:
            self._visit_fields(value, old, budget, steps, report)
        elif value.__class__ is list and self.items is not None:
            old_of = old_items(self.node, old)
            for index, item in enumerate(value):
                self.items._visit(item, old_of(item), budget, (*steps, index), report)  # noqa: SLF001 - of the same class

    @staticmethod
    def _report_broken(
        failures: "list[RuleFailure]",
        unchanged: bool,
        steps: tuple[str | int, ...],
        report: Callable[[BrokenRule], None],
    ) -> None:
        for failure in failures:
            report(BrokenRule(error_of(failure, path_text(steps)), unchanged and failure.can_ratchet))

    @staticmethod
    def _report_unusable(
        rules: "CompiledRules", steps: tuple[str | int, ...], report: Callable[[BrokenRule], None]
    ) -> None:
        """Report rules that do not compile: defaults are validated before the CRD's rules are checked."""
        for error in rules.errors:
            _, found, why = error.message.partition("compilation failed: ")
            if found:
                detail = f'"{rules.type}": rule compile error: {found}{why}'
                report(
                    BrokenRule(
                        FieldError(ErrorType.INVALID, path_text(steps) or NO_FIELD, OMITTED, detail), unchanged=False
                    )
                )

    def _visit_fields(
        self,
        value: JsonObject,
        old: object,
        budget: "Budget",
        steps: tuple[str | int, ...],
        report: Callable[[BrokenRule], None],
    ) -> None:
        for name, tree in self.fields.items():
            if name in value:
                tree._visit(value[name], old_field(old, name), budget, (*steps, name), report)  # noqa: SLF001 - as above
        if self.others is not None:
            for name, child in value.items():
                if name not in self.node.properties:
                    self.others._visit(child, old_field(old, name), budget, (*steps, MapKey(name)), report)  # noqa: SLF001 - as above


def rule_tree(node: Structural, *, is_root: bool = True) -> RuleTree | None:
    """Compile the rules of a schema; nothing if it has none."""
    fields = {name: tree for name, child in node.properties.items() if (tree := rule_tree(child, is_root=False))}
    others = rule_tree(node.values, is_root=False) if node.values is not None else None
    items = rule_tree(node.items, is_root=False) if node.items is not None else None
    if not (node.rules or fields or others or items):
        return None
    from steersman.cel import Budget  # noqa: PLC0415 - schemas without rules need no compiler
    from steersman.structural.cel_rules import compile_rules  # noqa: PLC0415 - schemas without rules need no compiler

    rules = compile_rules(node.schema, is_root=is_root) if node.rules else None
    return RuleTree(node, Budget, rules, fields, others, items, is_root)
