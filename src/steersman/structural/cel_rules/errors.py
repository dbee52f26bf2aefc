"""The messages of Kubernetes about rules that it rejects: their errors and their estimated cost."""

from collections.abc import Iterable
from dataclasses import dataclass

from steersman.cel.cost.factors import ESTIMATED_TOTAL_LIMIT
from steersman.cel.cost.ranges import add

VALIDATIONS = "x-kubernetes-validations"
INVALID = "FieldValueInvalid"
FORBIDDEN = "FieldValueForbidden"

_ADVICE = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared)"
)
_NOT_WORTH_NAMING = ESTIMATED_TOTAL_LIMIT // 100
_MOST_NAMED = 4
_FAR_TOO_MUCH = 100.0
_SLIGHTLY_TOO_MUCH = 1.5


@dataclass(frozen=True, slots=True)
class RuleError:
    """A rule that Kubernetes would reject; ``field`` is relative to the schema node."""

    field: str
    message: str
    reason: str = INVALID


@dataclass(frozen=True, slots=True)
class RuleCost:
    """What a rule costs by estimate, for all the times it may run on one object."""

    field: str
    cost: int


def factor_text(name: str, cost: int, limit: int) -> str:
    """Return by how much an estimate exceeds its limit, as text."""
    factor = cost / limit
    if factor > _FAR_TOO_MUCH:
        shown = "more than 100x"
    elif factor < _SLIGHTLY_TOO_MUCH:
        shown = f"{factor:f}x"
    else:
        shown = f"{factor:.1f}x"
    return f"{name} exceeds budget by factor of {shown} {_ADVICE}"


def total_cost_errors(costs: Iterable[RuleCost]) -> list[RuleError]:
    """Return errors about the rules that make a whole CRD too expensive; the error of the whole has an empty field."""
    known = list(costs)
    total = 0
    for one in known:
        total = add(total, one.cost)
    if total <= ESTIMATED_TOTAL_LIMIT:
        return []
    worst = sorted((one for one in known if one.cost >= _NOT_WORTH_NAMING), key=lambda one: -one.cost)[:_MOST_NAMED]
    contributed = "Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
    whole = factor_text(
        f"{VALIDATIONS} estimated rule cost total for entire OpenAPIv3 schema", total, ESTIMATED_TOTAL_LIMIT
    )
    return [
        *(RuleError(one.field, contributed, FORBIDDEN) for one in worst),
        RuleError("", f"Forbidden: {whole}", FORBIDDEN),
    ]
