"""Validation of counts, ports, ranges and percentages."""

import re
from collections.abc import Sequence
from typing import Any

from steersman.apiserver.builtin.common.names import port_name_faults
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, invalid, not_supported, required

PROTOCOLS = ("SCTP", "TCP", "UDP")
NEGATIVE = "must be greater than or equal to 0"
NOT_POSITIVE = "must be greater than zero"
PORT_RULE = "must be between 1 and 65535, inclusive"
_PERCENT_RULE = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for "
    "validation is '[0-9]+%')"
)
_MAX_PORT = 65535
_HUNDRED = 100
MAX_INT32 = 2**31 - 1


def negative_errors(document: JsonObject, names: Sequence[str], path: str) -> Errors:
    """Reject fields with negative numbers."""
    return [
        invalid(f"{path}.{name}" if path else name, document[name], NEGATIVE)
        for name in names
        if (document.get(name) or 0) < 0
    ]


def range_errors(value: int | None, field: str, low: int, high: int) -> Errors:
    """Validate that a number is in a range; ``None`` is valid."""
    if value is None or low <= value <= high:
        return []
    return [invalid(field, value, f"must be between {low} and {high}, inclusive")]


def port_errors(value: int, field: str) -> Errors:
    """Validate a port number."""
    return [] if 1 <= value <= _MAX_PORT else [invalid(field, value, PORT_RULE)]


def protocol_errors(protocol: str, field: str) -> Errors:
    """Validate the protocol of a port."""
    if not protocol:
        return [required(field)]
    return [] if protocol in PROTOCOLS else [not_supported(field, protocol, PROTOCOLS)]


def port_or_name_errors(value: Any, field: str) -> Errors:
    """Validate the number or the name of a port."""
    if value.__class__ is str:
        return [invalid(field, value, fault) for fault in port_name_faults(value)]
    return port_errors(value or 0, field)


def count_or_percent_errors(value: Any, field: str) -> Errors:
    """Validate a non-negative count or a percentage."""
    if value.__class__ is str:
        return [] if re.fullmatch(r"[0-9]+%", value) else [invalid(field, value, _PERCENT_RULE)]
    return [invalid(field, value, NEGATIVE)] if value < 0 else []


def over_hundred_errors(value: object, field: str) -> Errors:
    """Reject more than 100 percent."""
    if percent_of(value) > _HUNDRED:
        return [invalid(field, value, "must not be greater than 100%")]
    return []


def percent_of(value: object) -> int:
    """Return the number before the percent sign, and zero for a count."""
    return int(value[:-1]) if value.__class__ is str and re.fullmatch(r"[0-9]+%", value) else 0


def is_zero(value: object) -> bool:
    """Return whether a count or percentage is zero."""
    return value == 0 or (value.__class__ is str and value.endswith("%") and percent_of(value) == 0)
