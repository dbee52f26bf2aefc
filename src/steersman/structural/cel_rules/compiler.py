"""The rules of one schema node are compiled: into what can be checked, or errors as Kubernetes has them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from steersman.cel.checking.declarations import MAX_REQUEST, UNCLIPPED, Clip, Declaration, declare
from steersman.cel.cost.estimator import estimate_cost
from steersman.cel.cost.factors import ESTIMATED_RULE_LIMIT, PER_CALL_LIMIT
from steersman.cel.cost.ranges import add, multiply
from steersman.cel.evaluation.fastpath import Fast, generate
from steersman.cel.evaluation.interpreter import InstantiationError
from steersman.cel.program import CheckedExpression, Program
from steersman.cel.syntax.tree import Node
from steersman.cel.types import BOOL, STRING, CelType, optional_of
from steersman.cel.values.scalar_shapes import Shape
from steersman.cel.values.shapes import shape_of
from steersman.golang.text import json_text, quoted
from steersman.structural.cel_rules.errors import FORBIDDEN, INVALID, VALIDATIONS, RuleCost, RuleError, factor_text
from steersman.structural.cel_rules.field_path import normalized_field_path
from steersman.structural.cel_rules.rules import CompiledRules, Rule

_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")


def compile_rules(
    schema: Mapping[str, object],
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
    if not compiler.errors:
        try:
            compiler.compile(is_root=is_root)
        except RecursionError:
            compiler.internal_error("schema is nested too deeply")
    return compiler.finish()


#: Assumptions about the size of values, tried one after the other until a rule is affordable under them.
_CLIPS = (Clip(text=1024, items=UNCLIPPED.items), Clip(text=256, items=64), Clip(text=64, items=16))


def _clip_for(root: Node, scope: "_Scope", most: int) -> tuple[Clip | None, int]:
    """Return the assumption under which code is generated for a rule, and the most it can cost then."""
    if most <= PER_CALL_LIMIT:
        return UNCLIPPED, most
    for clip in _CLIPS:
        most = estimate_cost(root, clip.applied(scope.declared))
        if most <= PER_CALL_LIMIT:
            return clip, most
    return None, most


def _generated(root: Node, shape: Shape, clip: Clip | None) -> Fast | None:
    return None if clip is None else generate(root, shape, clip)


@dataclass(frozen=True, slots=True)
class _Scope:
    """What the rules of a node can see."""

    declared: Declaration
    objects: Mapping[str, Declaration]
    shape: Shape

    def variables(self, rule: Mapping[str, object]) -> dict[str, CelType]:
        """Return the types of ``self`` and ``oldSelf``."""
        old = optional_of(self.declared.type) if rule.get("optionalOldSelf") else self.declared.type
        return {"self": self.declared.type, "oldSelf": old}


class _Compiler:
    """Compiles the rules of one node."""

    def __init__(self, schema: Mapping[str, Any], max_cardinality: int | None, uncorrelatable: str | None) -> None:
        self.errors: list[RuleError] = []
        self._costs: list[RuleCost] = []
        self._compiled: list[Rule] = []
        self._schema = schema
        self._cardinality = max_cardinality
        self._uncorrelatable = uncorrelatable
        self._rules: list[Mapping[str, Any]] = list(schema.get(VALIDATIONS) or ())

    def _report(self, place: int, name: str, message: str, reason: str = INVALID) -> None:
        self.errors.append(RuleError(f".{VALIDATIONS}[{place}].{name}", message, reason))

    def internal_error(self, problem: str) -> None:
        """Record that the schema cannot have rules."""
        detail = f"internal error: failed to construct type information for {VALIDATIONS} rules: {problem}"
        self.errors.append(RuleError(f".{VALIDATIONS}", f"Internal error: {detail}", "InternalError"))

    # The form of rules

    def check_forms(self) -> None:
        """Check what can be checked of rules without compiling them."""
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
            self._report(place, "message", f"Invalid value: {quoted(message)}: must be non-empty if specified")
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
        shape = shape_of(self._schema, is_root=is_root)
        objects = {found.type.name: found for found in declared.objects()}
        for place, rule in enumerate(self._rules):
            self._compile_rule(place, rule, _Scope(declared, objects, shape))

    def finish(self) -> CompiledRules:
        """Return the compiled rules."""
        total = 0
        for one in self._costs:
            total = add(total, one.cost)
        return CompiledRules(
            errors=self.errors,
            costs=self._costs,
            rules=self._compiled,
            type=self._schema.get("type") or "",
            estimated_cost=total,
            uses_old_self=any(rule.uses_old for rule in self._compiled),
        )

    def _compile_rule(self, place: int, rule: Mapping[str, Any], scope: "_Scope") -> None:
        variables = scope.variables(rule)
        checked = CheckedExpression(rule["rule"], variables, scope.objects)
        program = self._program(place, rule, checked, scope)
        uses_old = checked.mentions("oldSelf")
        self._check_old(place, rule, uses_old=uses_old)
        if program is None:
            return
        self._observe(place, "rule", "estimated rule cost", self._total(program.estimated_cost, scope.declared))
        path = rule.get("fieldPath")
        normalized = normalized_field_path(path, self._schema) if path else ""
        optional_old = bool(rule.get("optionalOldSelf"))
        clip, most = _clip_for(checked.tree, scope, program.estimated_cost)
        if uses_old and optional_old:
            clip = None
        self._compiled.append(
            Rule(
                text=rule["rule"].strip(),
                shape=scope.shape,
                program=program,
                generate=partial(_generated, checked.tree, scope.shape, clip),
                message=(rule.get("message") or "").strip(),
                message_program=self._message_program(place, rule, scope),
                uses_old=uses_old,
                optional_old=optional_old,
                field=f".{normalized}" if normalized else "",
                reason=rule.get("reason"),
                most=most,
                needs_old=uses_old and not optional_old,
            )
        )

    def _program(
        self, place: int, rule: Mapping[str, object], checked: CheckedExpression, scope: "_Scope"
    ) -> Program | None:
        if checked.root is None:
            return self._refuse(place, "rule", rule, f"compilation failed: {checked.problem}")
        if checked.root.type != BOOL:
            return self._refuse(place, "rule", rule, "cel expression must evaluate to a bool")
        try:
            return Program(checked, scope.declared)
        except InstantiationError as error:
            return self._refuse(place, "rule", rule, f"program instantiation failed: {error}")

    def _message_program(self, place: int, rule: Mapping[str, Any], scope: "_Scope") -> Program | None:
        text = rule.get("messageExpression")
        if not text:
            return None
        checked = CheckedExpression(text, scope.variables(rule), scope.objects)
        name = "messageExpression"
        if checked.root is None:
            return self._refuse(place, name, rule, f"messageExpression compilation failed: {checked.problem}")
        if checked.root.type != STRING:
            return self._refuse(place, name, rule, "messageExpression must evaluate to a string")
        try:
            program = Program(checked, scope.declared)
        except InstantiationError as error:
            return self._refuse(place, name, rule, f"messageExpression instantiation failed: {error}")
        self._observe(place, name, "estimated messageExpression cost", program.estimated_cost)
        return program

    def _refuse(self, place: int, name: str, rule: Mapping[str, object], detail: str) -> Program | None:
        self._report(place, name, f"Invalid value: {_rule_text(rule)}: {detail}")
        return None

    def _total(self, cost: int, declared: Declaration) -> int:
        """Return the cost multiplied by how often the rule may run on one object."""
        often = self._cardinality
        if often is None:
            often = MAX_REQUEST // (declared.min_size + 1)
        return multiply(cost, often)

    def _observe(self, place: int, name: str, what: str, cost: int) -> None:
        self._costs.append(RuleCost(f".{VALIDATIONS}[{place}].{name}", cost))
        if cost > ESTIMATED_RULE_LIMIT:
            text = factor_text(what, cost, ESTIMATED_RULE_LIMIT)
            self._report(place, name, f"Forbidden: {text}", FORBIDDEN)

    def _check_old(self, place: int, rule: Mapping[str, Any], *, uses_old: bool) -> None:
        """Reject ``oldSelf`` where there is no earlier value, and the option for it where it is not used."""
        optional = rule.get("optionalOldSelf")
        if not uses_old and optional is not None:
            shown = "true" if optional else "false"
            self._report(
                place, "optionalOldSelf", f"Invalid value: {shown}: may not be set if oldSelf is not used in rule"
            )
        elif uses_old and self._uncorrelatable is not None:
            self._report(
                place,
                "rule",
                f"Invalid value: {quoted(rule['rule'])}: oldSelf cannot be used on the uncorrelatable portion of the "
                f"schema within {self._uncorrelatable}",
            )


def _rule_text(rule: Mapping[str, object]) -> str:
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
