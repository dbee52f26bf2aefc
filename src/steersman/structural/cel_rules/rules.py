"""The rules of one schema node, checked on values: ``x-kubernetes-validations`` at run time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from steersman.cel.cost.budget import Budget
from steersman.cel.cost.factors import PER_CALL_LIMIT
from steersman.cel.cost.metering import Meter
from steersman.cel.errors import CostExceeded, EvaluationError, NoSuchOverload
from steersman.cel.evaluation.fastpath import Fast
from steersman.cel.evaluation.interpreter import Failed
from steersman.cel.program import Program
from steersman.cel.values.scalar_shapes import Shape
from steersman.cel.values.values import NONE, Present
from steersman.golang.text import quoted
from steersman.json_types import ABSENT
from steersman.structural.cel_rules.errors import INVALID, RuleCost, RuleError
from steersman.validation.field_errors import value_text

_LONGEST_MESSAGE = 5 * 1024
_OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"


_UNRESOLVED = Failed(EvaluationError("no such attribute(s): oldSelf"))


@dataclass(frozen=True, slots=True)
class RuleFailure:
    """A value that breaks a rule; ``field`` is relative to the value."""

    field: str
    message: str
    reason: str = INVALID
    #: True when the failure may be forgiven if the value did not change.
    can_ratchet: bool = False


@dataclass(frozen=True)
class Rule:
    """One rule that compiled."""

    text: str
    shape: Shape
    program: Program
    #: Generates code for the rule.
    generate: Callable[[], Fast | None]
    message: str
    message_program: Program | None
    uses_old: bool
    optional_old: bool
    field: str
    reason: str | None
    #: The most that one evaluation can cost where generated code decides.
    most: int
    #: True if the rule is skipped without an earlier value.
    needs_old: bool

    @cached_property
    def fast(self) -> Fast | None:
        """Generated code, if the rule has any; where it decides, one evaluation cannot exceed its limit."""
        return self.generate()

    @property
    def shown(self) -> str:
        """How errors name the rule."""
        return self.message or self.text

    def values(self, value: object, old: object, *, for_message: bool = False) -> tuple[Any, Any]:
        """Return ``self`` and ``oldSelf`` as the rule sees them; its message never sees ``oldSelf`` as an optional."""
        current = self.shape.wrap(value)
        if old is ABSENT:
            optional = self.optional_old and self.uses_old and not for_message
            return current, NONE if optional else _UNRESOLVED
        earlier = self.shape.wrap(old)
        return current, Present(earlier) if self.optional_old and not for_message else earlier

    def measure(self, value: object, old: object) -> int:
        """Evaluate exactly, and return the cost."""
        meter = Meter()
        try:
            self.program.evaluate(*self.values(value, old), meter=meter)
        except (EvaluationError, CostExceeded, RecursionError):
            return min(meter.cost, PER_CALL_LIMIT)
        return meter.cost


@dataclass(frozen=True, slots=True)
class CompiledRules:
    """The rules of one schema node.

    ``errors`` are those that Kubernetes would reject; rules that did compile can be checked nevertheless. ``costs`` is
    the input of ``total_cost_errors``.
    """

    errors: list[RuleError] = field(default_factory=list)
    costs: list[RuleCost] = field(default_factory=list)
    rules: Sequence[Rule] = ()
    #: The JSON type of the node, which replaces the value in errors that are not results of a rule.
    type: str = ""
    #: What all rules together cost by estimate, for all the times they may run on one object.
    estimated_cost: int = 0
    uses_old_self: bool = False

    def check(self, value: object, old: object = ABSENT, *, budget: Budget) -> list[RuleFailure]:
        """Check every rule; rules on ``oldSelf`` only where there is an earlier value."""
        failures: list[RuleFailure] = []
        if value is None or not self.rules:
            return failures
        if budget.free <= 0 and budget.is_spent():
            budget.exhaust()
            return [self._failure(_OUT_OF_BUDGET)]
        if old is None:
            old = ABSENT
        for rule in self.rules:
            if (old is ABSENT and rule.needs_old) or _surely_holds(rule, value, old, budget):
                continue
            failure = self._check_exactly(rule, value, old, budget)
            if failure is not None:
                failures.append(failure)
                if budget.is_exhausted:
                    break
        return failures

    def _failure(self, detail: str) -> RuleFailure:
        """Return a failure for another reason than that a rule does not hold: the type replaces the value."""
        return RuleFailure("", f"Invalid value: {quoted(self.type)}: {detail}")

    def _check_exactly(self, rule: Rule, value: object, old: object, budget: Budget) -> RuleFailure | None:
        meter = Meter()
        holds: Any = None
        error: EvaluationError | CostExceeded | None = None
        try:
            holds = rule.program.evaluate(*rule.values(value, old), meter=meter)
        except (EvaluationError, CostExceeded) as raised:
            error = raised
        except RecursionError:
            error = EvaluationError("expression recursion limit exceeded")
        if not budget.spend(meter.cost):
            return self._failure(_OUT_OF_BUDGET)
        if error is not None:
            return self._error(rule, error, budget)
        return None if holds is True else self._broken(rule, value, old, budget)

    def _error(self, rule: Rule, error: EvaluationError | CostExceeded, budget: Budget) -> RuleFailure:
        if isinstance(error, CostExceeded):
            budget.exhaust()
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

    def _broken(self, rule: Rule, value: object, old: object, budget: Budget) -> RuleFailure:
        can_ratchet = not rule.uses_old
        try:
            detail = _message(rule, value, old, budget)
        except _NoFurther as stopped:
            budget.exhaust()
            message = f"Invalid value: {quoted(self.type)}: {stopped}"
            return RuleFailure(rule.field, message, can_ratchet=can_ratchet)
        if detail is None:
            detail = rule.message or f"failed rule: {rule.text}"
        shown = "" if self.type in ("object", "array") else f": {value_text(value)}"
        return RuleFailure(rule.field, _MESSAGES[rule.reason](shown, detail), rule.reason or INVALID, can_ratchet)


def _surely_holds(rule: Rule, value: object, old: object, budget: Budget) -> bool:
    """Run the generated code, if the budget allows it; if it cannot decide, the interpreter does."""
    if rule.fast is None or budget.free < rule.most:
        return False
    try:
        if rule.fast(value, old) is not True:
            return False
    except Exception:  # noqa: BLE001 - see above: a missing key, a wrong type, an overflow, all of them
        return False
    budget.free -= rule.most
    budget.unmeasured.append((rule, value, old))
    return True


class _NoFurther(Exception):  # noqa: N818 - named as the event
    """The message of a rule cost too much; nothing more may run."""


def _message(rule: Rule, value: object, old: object, budget: Budget) -> str | None:
    """Evaluate the message expression; ``None`` if the result is not a usable text."""
    if rule.message_program is None:
        return None
    meter = Meter()
    text: Any = None
    exceeded = False
    try:
        text = rule.message_program.evaluate(*rule.values(value, old, for_message=True), meter=meter)
    except (EvaluationError, RecursionError):
        text = None
    except CostExceeded:
        exceeded = True
    if not budget.spend(meter.cost):
        raise _NoFurther(
            "messageExpression evaluation failed due to running out of cost budget, no further validation rules will "
            "be run"
        )
    if exceeded:
        raise _NoFurther(
            "no further validation rules will be run due to call cost exceeds limit for messageExpression: "
            f"{quoted(rule.message_program.text)}"
        )
    return _usable(text) if isinstance(text, str) else None


def _usable(text: str) -> str | None:
    text = text.strip()
    if not text or "\n" in text or len(text.encode()) > _LONGEST_MESSAGE:
        return None
    return text


_MESSAGES: dict[str | None, Callable[[str, str], str]] = {
    None: lambda shown, detail: f"Invalid value{shown}: {detail}",
    "FieldValueInvalid": lambda shown, detail: f"Invalid value{shown}: {detail}",
    "FieldValueForbidden": lambda _shown, detail: f"Forbidden: {detail}",
    "FieldValueRequired": lambda _shown, detail: f"Required value: {detail}",
    "FieldValueDuplicate": lambda shown, _detail: f"Duplicate value{shown}",
}
