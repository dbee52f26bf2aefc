"""``x-kubernetes-validations``: the rules of one schema node, compiled once and checked on many values."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from steersman.schema.cel.cost_factors import (
    ESTIMATED_RULE_LIMIT,
    ESTIMATED_TOTAL_LIMIT,
    PER_OBJECT_LIMIT,
)
from steersman.schema.cel.declarations import MAX_REQUEST, Declaration, declare
from steersman.schema.cel.errors import CostExceeded, EvaluationError, NoSuchOverload
from steersman.schema.cel.estimates import add, multiply
from steersman.schema.cel.field_path import normalized_field_path
from steersman.schema.cel.interpreter import Failed, InstantiationError
from steersman.schema.cel.metering import Meter
from steersman.schema.cel.program import CheckedExpression, Program
from steersman.schema.cel.shapes import Shape, shape_of
from steersman.schema.cel.types import BOOL, STRING, CelType, optional_of
from steersman.schema.cel.values import NONE, Present
from steersman.schema.field_errors import value_text
from steersman.schema.go_text import json_text, quoted

_VALIDATIONS = "x-kubernetes-validations"
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_LONGEST_MESSAGE = 5 * 1024
_ADVICE = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared)"
)
_NOT_WORTH_NAMING = ESTIMATED_TOTAL_LIMIT // 100
_MOST_NAMED = 4
_FAR_TOO_MUCH = 100.0
_SLIGHTLY_TOO_MUCH = 1.5
_OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"


class _NoOld:
    """No earlier value: the object is new, or its part cannot be correlated."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = _NoOld()
_UNRESOLVED = Failed(EvaluationError("no such attribute(s): oldSelf"))


@dataclass(frozen=True, slots=True)
class RuleError:
    """A rule that Kubernetes would refuse; ``field`` is relative to the schema node."""

    field: str
    message: str
    reason: str = "FieldValueInvalid"


@dataclass(frozen=True, slots=True)
class RuleFailure:
    """A value that breaks a rule; ``field`` is relative to the value."""

    field: str
    message: str
    reason: str = "FieldValueInvalid"
    #: True when the failure may be forgiven if the value did not change.
    can_ratchet: bool = False


@dataclass(frozen=True, slots=True)
class RuleCost:
    """What a rule costs by estimate, for all the times it may run on one object."""

    field: str
    cost: int


class Budget:
    """What rules may still cost on one object; negative when nothing more may run."""

    __slots__ = ("remaining",)

    def __init__(self, limit: int = PER_OBJECT_LIMIT) -> None:
        self.remaining = limit

    @property
    def is_exhausted(self) -> bool:
        """True when no further rule will run on this object."""
        return self.remaining < 0

    def spend(self, cost: int) -> bool:
        """Take the cost; tell whether there was enough left."""
        self.remaining = self.remaining - cost if cost <= self.remaining else -1
        return self.remaining >= 0

    def exhaust(self) -> None:
        """Let nothing more run."""
        self.remaining = -1


def factor_text(name: str, cost: int, limit: int) -> str:
    """Say by how much an estimate exceeds its limit."""
    factor = cost / limit
    if factor > _FAR_TOO_MUCH:
        shown = "more than 100x"
    elif factor < _SLIGHTLY_TOO_MUCH:
        shown = f"{factor:f}x"
    else:
        shown = f"{factor:.1f}x"
    return f"{name} exceeds budget by factor of {shown} {_ADVICE}"


def total_cost_errors(costs: Iterable[RuleCost]) -> list[RuleError]:
    """Say which rules make a whole CustomResourceDefinition too costly; the error of the whole has an empty field."""
    known = list(costs)
    total = 0
    for one in known:
        total = add(total, one.cost)
    if total <= ESTIMATED_TOTAL_LIMIT:
        return []
    worst = sorted((one for one in known if one.cost >= _NOT_WORTH_NAMING), key=lambda one: -one.cost)[:_MOST_NAMED]
    contributed = "Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
    whole = factor_text(
        f"{_VALIDATIONS} estimated rule cost total for entire OpenAPIv3 schema", total, ESTIMATED_TOTAL_LIMIT
    )
    return [
        *(RuleError(one.field, contributed, "FieldValueForbidden") for one in worst),
        RuleError("", f"Forbidden: {whole}", "FieldValueForbidden"),
    ]


@dataclass(frozen=True, slots=True)
class _Rule:
    """One rule that compiled."""

    text: str
    program: Program
    message: str
    message_program: Program | None
    uses_old: bool
    optional_old: bool
    field: str
    reason: str | None

    @property
    def shown(self) -> str:
        """How errors name the rule."""
        return self.message or self.text


class CompiledRules:
    """The rules of one schema node.

    ``errors`` says what Kubernetes would refuse; rules that did compile can be checked nevertheless. ``costs`` feeds
    ``total_cost_errors``.
    """

    def __init__(self) -> None:
        self.errors: list[RuleError] = []
        self.costs: list[RuleCost] = []
        self.estimated_cost = 0
        self.uses_old_self = False
        self._rules: list[_Rule] = []
        self._shape: Shape | None = None
        self._type = ""

    def check(self, value: Any, old: Any = ABSENT, *, budget: Budget) -> list[RuleFailure]:
        """Check every rule; rules on ``oldSelf`` only where there is an earlier value."""
        if not self._rules or value is None or self._shape is None:
            return []
        if budget.remaining <= 0:
            budget.exhaust()
            return [self._failure(_OUT_OF_BUDGET)]
        old = ABSENT if old is None else old
        return _Check(self, self._shape, value, old, budget).run(self._rules)

    def _failure(self, detail: str) -> RuleFailure:
        """Fail for another reason than that a rule does not hold: the type stands for the value."""
        return RuleFailure("", f"Invalid value: {quoted(self._type)}: {detail}")


class _Check:
    """One run of rules over one value."""

    def __init__(self, rules: CompiledRules, shape: Shape, value: Any, old: Any, budget: Budget) -> None:
        self._owner = rules
        self._shape = shape
        self._value = value
        self._old = old
        self._budget = budget

    def run(self, rules: Iterable[_Rule]) -> list[RuleFailure]:
        """Check each rule until the budget is gone."""
        failures: list[RuleFailure] = []
        for rule in rules:
            if rule.uses_old and self._old is ABSENT and not rule.optional_old:
                continue
            failure = self._rule(rule)
            if failure is not None:
                failures.append(failure)
            if self._budget.is_exhausted:
                break
        return failures

    def _values(self, rule: _Rule, *, for_message: bool = False) -> tuple[Any, Any]:
        """Give ``self`` and ``oldSelf`` as the rule sees them; its message sees ``oldSelf`` never as an optional."""
        current = self._shape.wrap(self._value)
        if self._old is ABSENT:
            optional = rule.optional_old and rule.uses_old and not for_message
            return current, NONE if optional else _UNRESOLVED
        earlier = self._shape.wrap(self._old)
        return current, Present(earlier) if rule.optional_old and not for_message else earlier

    def _rule(self, rule: _Rule) -> RuleFailure | None:
        meter = Meter()
        holds: Any = None
        error: EvaluationError | CostExceeded | None = None
        try:
            holds = rule.program.evaluate(*self._values(rule), meter=meter)
        except (EvaluationError, CostExceeded) as raised:
            error = raised
        except RecursionError:
            error = EvaluationError("expression recursion limit exceeded")
        if not self._budget.spend(meter.cost):
            return self._failure(_OUT_OF_BUDGET)
        if error is not None:
            return self._error(rule, error)
        return None if holds is True else self._broken(rule)

    def _error(self, rule: _Rule, error: EvaluationError | CostExceeded) -> RuleFailure:
        if isinstance(error, CostExceeded):
            self._budget.exhaust()
            return self._failure(
                f"'{error}': no further validation rules will be run due to call cost exceeds limit for rule: "
                f"{rule.shown}"
            )
        if isinstance(error, NoSuchOverload):
            return self._failure(
                f"'{error}': call arguments did not match a supported operator, function or macro signature for "
                f"rule: {rule.shown}"
            )
        return self._failure(f"{error} evaluating rule: {rule.shown}")

    def _failure(self, detail: str) -> RuleFailure:
        return self._owner._failure(detail)  # noqa: SLF001 - its own helper

    def _broken(self, rule: _Rule) -> RuleFailure:
        can_ratchet = not rule.uses_old
        try:
            detail = self._message(rule)
        except CostExceeded as error:
            self._budget.exhaust()
            message = f"Invalid value: {quoted(self._owner._type)}: {error}"  # noqa: SLF001 - its own owner
            return RuleFailure(rule.field, message, can_ratchet=can_ratchet)
        if detail is None:
            detail = rule.message or f"failed rule: {rule.text}"
        shown = "" if self._owner._type in ("object", "array") else f": {value_text(self._value)}"  # noqa: SLF001 - same
        return RuleFailure(rule.field, _MESSAGES[rule.reason](shown, detail), rule.reason or _INVALID, can_ratchet)

    def _message(self, rule: _Rule) -> str | None:
        """Evaluate the message expression; ``None`` when it gives no usable text."""
        if rule.message_program is None:
            return None
        meter = Meter()
        text: Any = None
        try:
            text = rule.message_program.evaluate(*self._values(rule, for_message=True), meter=meter)
        except EvaluationError:
            text = None
        if not self._budget.spend(meter.cost):
            raise CostExceeded
        return _usable(text) if text.__class__ is str else None


def _usable(text: str) -> str | None:
    text = text.strip()
    if not text or "\n" in text or len(text.encode()) > _LONGEST_MESSAGE:
        return None
    return text


_INVALID = "FieldValueInvalid"
_MESSAGES: dict[str | None, Callable[[str, str], str]] = {
    None: lambda shown, detail: f"Invalid value{shown}: {detail}",
    "FieldValueInvalid": lambda shown, detail: f"Invalid value{shown}: {detail}",
    "FieldValueForbidden": lambda _shown, detail: f"Forbidden: {detail}",
    "FieldValueRequired": lambda _shown, detail: f"Required value: {detail}",
    "FieldValueDuplicate": lambda shown, _detail: f"Duplicate value{shown}",
}


def compile_rules(
    schema: Mapping[str, Any],
    *,
    max_cardinality: int | None = 1,
    is_root: bool = False,
    uncorrelatable: str | None = None,
) -> CompiledRules:
    """Compile the rules of a schema node.

    ``max_cardinality`` is how often the node may occur in one object (``None``: no limit), for the cost estimate.
    ``is_root`` holds for the root of a resource, where ``metadata.name`` is visible. ``uncorrelatable`` names the part
    of the schema around this node in which earlier values cannot be found, if there is one.
    """
    compiler = _Compiler(schema, max_cardinality, uncorrelatable)
    compiler.check_forms()
    if not compiler.compiled.errors:
        try:
            compiler.compile(is_root=is_root)
        except RecursionError:
            compiler.internal_error("schema is nested too deeply")
    return compiler.compiled


class _Compiler:
    """Compiles the rules of one node."""

    def __init__(self, schema: Mapping[str, Any], max_cardinality: int | None, uncorrelatable: str | None) -> None:
        self.compiled = CompiledRules()
        self._schema = schema
        self._cardinality = max_cardinality
        self._uncorrelatable = uncorrelatable
        self._rules: list[Mapping[str, Any]] = list(schema.get(_VALIDATIONS) or ())

    def _report(self, place: int, name: str, message: str, reason: str = _INVALID) -> None:
        self.compiled.errors.append(RuleError(f".{_VALIDATIONS}[{place}].{name}", message, reason))

    def internal_error(self, problem: str) -> None:
        """Say that the schema cannot have rules at all."""
        detail = f"internal error: failed to construct type information for {_VALIDATIONS} rules: {problem}"
        self.compiled.errors.append(RuleError(f".{_VALIDATIONS}", f"Internal error: {detail}", "InternalError"))

    # The form of rules

    def check_forms(self) -> None:
        """Check what can be said of rules without compiling them."""
        for place, rule in enumerate(self._rules):
            self._check_message(place, rule)
            expression = rule.get("messageExpression") or ""
            if expression and not expression.strip():
                self._required(place, "messageExpression", "messageExpression must be non-empty if specified")
            reason = rule.get("reason")
            if reason is not None and reason not in _REASONS:
                choices = ", ".join(map(quoted, _REASONS))
                self._report(
                    place,
                    "reason",
                    f"Unsupported value: {quoted(reason)}: supported values: {choices}",
                    "FieldValueNotSupported",
                )
            self._check_field_path(place, rule.get("fieldPath") or "")

    def _required(self, place: int, name: str, detail: str) -> None:
        self._report(place, name, f"Required value: {detail}", "FieldValueRequired")

    def _check_message(self, place: int, rule: Mapping[str, Any]) -> None:
        text = (rule.get("rule") or "").strip()
        message = rule.get("message") or ""
        trimmed = message.strip()
        if not text:
            self._required(place, "rule", "rule is not specified")
        elif message and not trimmed:
            self._report(place, "message", f"Invalid value: {quoted(message)}: message must be non-empty if specified")
        elif "\n" in trimmed:
            self._report(place, "message", f"Invalid value: {quoted(message)}: must not contain line breaks")
        elif "\n" in text and not trimmed:
            self._required(place, "message", "message must be specified if rule contains line breaks")

    def _check_field_path(self, place: int, path: str) -> None:
        shown = f"Invalid value: {quoted(path)}"
        if path and not path.strip():
            self._report(place, "fieldPath", f"{shown}: must be non-empty if specified")
        if "\n" in path:
            self._report(place, "fieldPath", f"{shown}: must not contain line breaks")
        if path and normalized_field_path(path, self._schema) is None:
            self._report(place, "fieldPath", f"{shown}: must be a valid path")

    # Compiling

    def compile(self, *, is_root: bool) -> None:
        """Compile every rule."""
        is_root = is_root or bool(self._schema.get("x-kubernetes-embedded-resource"))
        declared = declare(self._schema, is_root=is_root)
        if declared is None:
            self.internal_error("unable to convert structural schema to CEL declarations")
            return
        self.compiled._shape = shape_of(self._schema, is_root=is_root)  # noqa: SLF001 - it is being built here
        self.compiled._type = self._schema.get("type") or ""  # noqa: SLF001 - same
        objects = {found.type.name: found for found in declared.objects()}
        for place, rule in enumerate(self._rules):
            self._compile_rule(place, rule, declared, objects)

    def _variables(self, rule: Mapping[str, Any], declared: Declaration) -> dict[str, CelType]:
        optional = rule.get("optionalOldSelf")
        return {"self": declared.type, "oldSelf": optional_of(declared.type) if optional else declared.type}

    def _compile_rule(
        self, place: int, rule: Mapping[str, Any], declared: Declaration, objects: Mapping[str, Declaration]
    ) -> None:
        variables = self._variables(rule, declared)
        checked = CheckedExpression(rule["rule"], variables, objects)
        program = self._program(place, rule, checked, declared)
        if program is None:
            return
        uses_old = checked.mentions("oldSelf")
        self._observe(place, "rule", "estimated rule cost", self._total(program.estimated_cost, declared))
        if uses_old:
            self.compiled.uses_old_self = True
            self._check_correlatable(place, rule)
        elif rule.get("optionalOldSelf") is not None:
            shown = json_text(rule["optionalOldSelf"])
            detail = "may not be set if oldSelf is not used in rule"
            self._report(place, "optionalOldSelf", f"Invalid value: {shown}: {detail}")
        message_program = self._message_program(place, rule, variables, declared, objects)
        path = rule.get("fieldPath")
        normalized = normalized_field_path(path, self._schema) if path else ""
        self.compiled._rules.append(  # noqa: SLF001 - it is being built here
            _Rule(
                text=rule["rule"].strip(),
                program=program,
                message=(rule.get("message") or "").strip(),
                message_program=message_program,
                uses_old=uses_old,
                optional_old=bool(rule.get("optionalOldSelf")),
                field=f".{normalized}" if normalized else "",
                reason=rule.get("reason"),
            )
        )

    def _program(
        self, place: int, rule: Mapping[str, Any], checked: CheckedExpression, declared: Declaration
    ) -> Program | None:
        if checked.root is None:
            return self._refuse(place, "rule", rule, f"compilation failed: {checked.problem}")
        if checked.root.type != BOOL:
            return self._refuse(place, "rule", rule, "cel expression must evaluate to a bool")
        try:
            return Program(checked, declared)
        except InstantiationError as error:
            return self._refuse(place, "rule", rule, f"program instantiation failed: {error}")

    def _message_program(
        self,
        place: int,
        rule: Mapping[str, Any],
        variables: Mapping[str, CelType],
        declared: Declaration,
        objects: Mapping[str, Declaration],
    ) -> Program | None:
        text = rule.get("messageExpression")
        if not text:
            return None
        checked = CheckedExpression(text, variables, objects)
        name = "messageExpression"
        if checked.root is None:
            return self._refuse(place, name, rule, f"messageExpression compilation failed: {checked.problem}")
        if checked.root.type != STRING:
            return self._refuse(place, name, rule, "messageExpression must evaluate to a string")
        try:
            program = Program(checked, declared)
        except InstantiationError as error:
            return self._refuse(place, name, rule, f"messageExpression instantiation failed: {error}")
        self._observe(place, name, "estimated messageExpression cost", program.estimated_cost)
        return program

    def _refuse(self, place: int, name: str, rule: Mapping[str, Any], detail: str) -> Program | None:
        self._report(place, name, f"Invalid value: {_rule_text(rule)}: {detail}")
        return None

    def _total(self, cost: int, declared: Declaration) -> int:
        """Multiply by how often the rule may run on one object."""
        often = self._cardinality
        if often is None:
            often = MAX_REQUEST // (declared.min_size + 1)
        return multiply(cost, often)

    def _observe(self, place: int, name: str, what: str, cost: int) -> None:
        compiled = self.compiled
        compiled.estimated_cost = add(compiled.estimated_cost, cost)
        compiled.costs.append(RuleCost(f".{_VALIDATIONS}[{place}].{name}", cost))
        if cost > ESTIMATED_RULE_LIMIT:
            text = factor_text(what, cost, ESTIMATED_RULE_LIMIT)
            self._report(place, name, f"Forbidden: {text}", "FieldValueForbidden")

    def _check_correlatable(self, place: int, rule: Mapping[str, Any]) -> None:
        if self._uncorrelatable is not None:
            self._report(
                place,
                "rule",
                f"Invalid value: {quoted(rule['rule'])}: oldSelf cannot be used on the uncorrelatable portion of the "
                f"schema within {self._uncorrelatable}",
            )


def _rule_text(rule: Mapping[str, Any]) -> str:
    """Write a rule as Go prints it in errors."""
    parts = (
        ("Rule", rule.get("rule") or ""),
        ("Message", rule.get("message") or ""),
        ("MessageExpression", rule.get("messageExpression") or ""),
        ("Reason", rule.get("reason")),
        ("FieldPath", rule.get("fieldPath") or ""),
        ("OptionalOldSelf", rule.get("optionalOldSelf")),
    )
    return "{" + ",".join(f'"{name}":{json_text(value)}' for name, value in parts) + "}"
