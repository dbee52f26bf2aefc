"""Validation of PriorityLevelConfigurations."""

from math import ceil, log2

from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, forbidden, invalid, not_supported, required

_TYPES = ("Exempt", "Limited")
_RESPONSES = ("Queue", "Reject")
_EXEMPT = "exempt"
_WHOLE = 100
#: Bits of the hash that chooses a request's queues.
_MAX_HASH_BITS = 60
_NEGATIVE = "must be a non-negative integer"


def priority_level_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a PriorityLevelConfiguration."""
    del old
    if subresource == "status":
        return []
    spec, name = obj.get("spec") or {}, obj["metadata"].get("name") or ""
    kind, errors = spec.get("type") or "", []
    if (kind == "Exempt") != (name == _EXEMPT):
        errors.append(invalid("spec.type", kind, "must be 'Exempt' if and only if `name` is 'exempt'"))
    if kind not in _TYPES:
        return [not_supported("spec.type", kind, _TYPES)]
    if kind == "Exempt":
        if spec.get("limited") is not None:
            errors.append(forbidden("spec.limited", "must be nil if the type is not Limited"))
        return errors + _share_errors(spec.get("exempt") or {}, "spec.exempt")
    if spec.get("exempt") is not None:
        errors.append(forbidden("spec.exempt", "must be nil if the type is Limited"))
    if spec.get("limited") is None:
        return [*errors, required("spec.limited", "must not be empty when type is Limited")]
    return errors + _limited_errors(spec["limited"], "spec.limited")


def _share_errors(part: JsonObject, path: str) -> Errors:
    errors: Errors = []
    if (part.get("nominalConcurrencyShares") or 0) < 0:
        errors.append(invalid(f"{path}.nominalConcurrencyShares", part["nominalConcurrencyShares"], _NEGATIVE))
    return errors + _lendable_errors(part, path)


def _lendable_errors(part: JsonObject, path: str) -> Errors:
    lendable = part.get("lendablePercent")
    if lendable is None or 0 <= lendable <= _WHOLE:
        return []
    return [invalid(f"{path}.lendablePercent", lendable, "must be between 0 and 100, inclusive")]


def _limited_errors(limited: JsonObject, path: str) -> Errors:
    errors: Errors = []
    if (limited.get("nominalConcurrencyShares") or 0) < 0:
        errors.append(invalid(f"{path}.nominalConcurrencyShares", limited["nominalConcurrencyShares"], _NEGATIVE))
    errors += _response_errors(limited.get("limitResponse") or {}, f"{path}.limitResponse")
    errors += _lendable_errors(limited, path)
    borrowed = limited.get("borrowingLimitPercent")
    if borrowed is not None and borrowed < 0:
        errors.append(invalid(f"{path}.borrowingLimitPercent", borrowed, f"if specified, {_NEGATIVE}"))
    return errors


def _response_errors(response: JsonObject, path: str) -> Errors:
    kind, queuing = response.get("type") or "", response.get("queuing")
    if not kind:
        return [required(f"{path}.type")]
    if kind not in _RESPONSES:
        return [not_supported(f"{path}.type", kind, _RESPONSES)]
    if kind == "Reject":
        text = "must be nil if limited.limitResponse.type is not Limited"
        return [] if queuing is None else [forbidden(f"{path}.queuing", text)]
    if queuing is None:
        return [required(f"{path}.queuing", "must not be empty if limited.limitResponse.type is Limited")]
    return _queuing_errors(queuing, f"{path}.queuing")


def _queuing_errors(queuing: JsonObject, path: str) -> Errors:
    queues, hand = queuing.get("queues") or 0, queuing.get("handSize") or 0
    errors: Errors = [
        invalid(f"{path}.{name}", queuing[name], "must be positive")
        for name in ("queueLengthLimit", "queues", "handSize")
        if (queuing.get(name) or 0) <= 0
    ]
    if hand > queues > 0:
        errors.append(invalid(f"{path}.handSize", hand, f"should not be greater than queues ({queues})"))
    elif hand > 0 and ceil(log2(queues) * hand) > _MAX_HASH_BITS:
        text = f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than"
        errors.append(invalid(f"{path}.handSize", hand, f"{text} {_MAX_HASH_BITS}"))
    return errors
