"""Validation of ``spec.successPolicy`` of Jobs: which completion indexes suffice."""

from steersman.apiserver.builtin.common.numbers import negative_errors
from steersman.golang.text import quoted
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, invalid, required, too_long, too_many

_MOST_RULES = 20
_LONGEST = 64 * 1024


class _IndexError(ValueError):
    """A text that is not a list of indexes."""


def success_policy_errors(policy: JsonObject, completions: int, path: str) -> Errors:
    """Validate the rules of an indexed Job with that many completions."""
    rules = policy.get("rules") or ()
    errors: Errors = []
    if not rules:
        errors.append(
            required(f"{path}.rules", "at least one rules must be specified when the successPolicy is specified")
        )
    if len(rules) > _MOST_RULES:
        errors.append(too_many(f"{path}.rules", len(rules), _MOST_RULES))
    for index, rule in enumerate(rules):
        errors += _rule_errors(rule, completions, f"{path}.rules[{index}]")
    return errors


def _rule_errors(rule: JsonObject, completions: int, path: str) -> Errors:
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    errors: Errors = []
    if count is None and indexes is None:
        errors.append(required(path, "at least one of succeededCount or succeededIndexes must be specified"))
    total = 0
    if indexes is not None:
        place = f"{path}.succeededIndexes"
        if len(indexes.encode()) > _LONGEST:
            errors.append(too_long(place, _LONGEST))
        try:
            total = _total(indexes, completions)
        except _IndexError as error:
            errors.append(invalid(place, indexes, f"error parsing succeededIndexes: {error}"))
    if count is not None:
        place = f"{path}.succeededCount"
        errors += negative_errors(rule, ("succeededCount",), path)
        if count > completions:
            why = f"must be less than or equal to {completions} (the number of specified completions)"
            errors.append(invalid(place, count, why))
        if indexes is not None and count > total:
            why = (
                f"must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
            )
            errors.append(invalid(place, count, why))
    return errors


def _total(text: str, completions: int) -> int:
    """Return the number of indexes in a list such as ``1,3-5``."""
    total, last = 0, -1
    for part in text.split(",") if text else ():
        first, end = _interval(part, completions)
        if total and last >= first:
            raise _IndexError(f"non-increasing order, previous: {last}, current: {first}")
        total += end - first + 1
        last = end
    return total


def _interval(text: str, completions: int) -> tuple[int, int]:
    limits = text.split("-")
    if len(limits) > 2:  # noqa: PLR2004 - first and last
        why = "violates the requirement that an index interval can have at most two parts separated by '-'"
        raise _IndexError(f"the fragment {quoted(text)} {why}")
    numbers = [_index(limit, completions) for limit in limits]
    if len(numbers) > 1 and numbers[0] >= numbers[1]:
        raise _IndexError(f"non-increasing order, previous: {numbers[0]}, current: {numbers[1]}")
    return numbers[0], numbers[-1]


def _index(text: str, completions: int) -> int:
    if not text.isascii() or not text.removeprefix("+").isdigit():
        raise _IndexError(f"cannot convert string to integer for index: {quoted(text)}")
    if int(text) >= completions:
        raise _IndexError(f"too large index: {quoted(text)}")
    return int(text)
