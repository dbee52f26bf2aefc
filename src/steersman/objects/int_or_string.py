"""Numbers that may also be percentages: ``maxUnavailable: 1`` or ``maxUnavailable: "25%"``."""

import re
from typing import TypeAlias

IntOrString: TypeAlias = int | str

_PERCENT = re.compile(r"(-?[0-9]{1,10})%")


def scaled(value: IntOrString, total: int, *, round_up: bool) -> int:
    """Return a number as it is, and a percentage as that share of ``total``; any other text is an error."""
    if isinstance(value, int):
        return value
    match = _PERCENT.fullmatch(value)
    if match is None:
        raise ValueError(f"neither a number nor a percentage: {value!r} (write 3 or '25%')")
    share = int(match[1]) * total
    return -(-share // 100) if round_up else share // 100
