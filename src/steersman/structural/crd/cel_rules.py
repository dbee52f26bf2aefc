"""The CEL rules of a CustomResourceDefinition: whether they compile, and whether they can be afforded."""

from dataclasses import dataclass, field
from typing import Any

from steersman.structural.rules import error_of
from steersman.structural.schema import Schema
from steersman.validation.field_errors import FieldError, invalid


def _times(cardinality: int | None, limit: int | None) -> int | None:
    """Return how often values occur that occur at most ``limit`` times in each of ``cardinality`` values."""
    return None if cardinality is None or limit is None else cardinality * max(limit, 0)


def _with_true_rules(schema: Schema) -> Schema:
    """Return a schema whose rules are replaced by ``true``, so that only errors of their form are left."""
    rules = [
        {
            **rule,
            "rule": "".join(char for char in rule["rule"] if char in "\r\n") + "true" if rule["rule"].strip() else "",
            "messageExpression": "''"
            if (rule.get("messageExpression") or "").strip()
            else rule.get("messageExpression"),
        }
        for rule in schema["x-kubernetes-validations"]
    ]
    rules = [{key: value for key, value in rule.items() if key != "optionalOldSelf"} for rule in rules]
    return {"type": "object", **schema, "x-kubernetes-validations": rules}


def _idle_options(schema: Schema, path: str) -> list[FieldError]:
    """Return errors about rules that make `oldSelf` optional without using it."""
    from steersman.structural.cel_rules import compile_rules  # noqa: PLC0415 - schemas without rules need no compiler

    errors = []
    for index, rule in enumerate(schema["x-kubernetes-validations"]):
        optional = rule.get("optionalOldSelf")
        if optional is not None and not compile_rules({**schema, "x-kubernetes-validations": [rule]}).uses_old_self:
            where = f"{path}.x-kubernetes-validations[{index}].optionalOldSelf"
            errors.append(invalid(where, optional, "may not be set if oldSelf is not used in rule"))
    return errors


@dataclass(slots=True)
class _Survey:
    """Walks a schema and collects the errors of its rules."""

    #: Fields that have errors already: of rules at or above them only the form is checked.
    faulty: list[str]
    #: Whether the schema as a whole is sound; of the rules of another one only the form is checked.
    is_sound: bool = True
    errors: list[FieldError] = field(default_factory=list)
    costs: list[Any] = field(default_factory=list)

    def visit(self, schema: Schema, path: str, cardinality: int | None, uncorrelatable: str | None) -> None:
        """Check the rules of a schema and of those inside."""
        for name, part in (schema.get("properties") or {}).items():
            self.visit(part, f"{path}.properties[{name}]", cardinality, uncorrelatable)
        additional, items = schema.get("additionalProperties"), schema.get("items")
        if additional.__class__ is dict:
            often = _times(cardinality, schema.get("maxProperties"))
            self.visit(additional, f"{path}.additionalProperties", often, uncorrelatable)
        if items.__class__ is dict:
            lost = path if schema.get("x-kubernetes-list-type") != "map" else None
            often = _times(cardinality, schema.get("maxItems"))
            self.visit(items, f"{path}.items", often, uncorrelatable or lost)
        if not schema.get("x-kubernetes-validations"):
            return
        if not self.is_sound or any(name.startswith(path) for name in self.faulty):
            self.errors += self._form_errors(schema, path)
        else:
            self._compile(schema, path, cardinality, uncorrelatable)

    def _form_errors(self, schema: Schema, path: str) -> list[FieldError]:
        from steersman.structural.cel_rules import compile_rules  # noqa: PLC0415 - schemas without rules need no compiler

        return [error_of(error, path) for error in compile_rules(_with_true_rules(schema)).errors]

    def _compile(self, schema: Schema, path: str, cardinality: int | None, uncorrelatable: str | None) -> None:
        from steersman.structural.cel_rules import RuleCost, compile_rules  # noqa: PLC0415 - schemas without rules need no compiler

        compiled = compile_rules(
            schema,
            max_cardinality=cardinality,
            is_root=path.endswith("openAPIV3Schema"),
            uncorrelatable=uncorrelatable,
        )
        self.errors += [error_of(error, path) for error in compiled.errors]
        if not compiled.errors:
            self.errors += _idle_options(schema, path)
        elif forms := self._form_errors(schema, path):
            self.faulty += [error.field for error in forms]
        self.costs += [RuleCost(path + cost.field, cost.cost) for cost in compiled.costs]


def rule_errors(schema: Schema, path: str, faulty: list[str], *, is_sound: bool) -> list[FieldError]:
    """Return the errors of the rules of a schema; rules around ``faulty`` fields are skipped."""
    survey = _Survey([*faulty], is_sound)
    survey.visit(schema, path, 1, None)
    if not survey.costs:
        return survey.errors
    from steersman.structural.cel_rules import total_cost_errors  # noqa: PLC0415 - schemas without rules need no compiler

    return survey.errors + [error_of(error, "" if error.field else path) for error in total_cost_errors(survey.costs)]
