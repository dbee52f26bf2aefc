"""Recorded cases that differ here on purpose, each with its reason."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from tests.cel.replay import Cause

#: The rule that the recorded fields share, and why their names are not compared.
RANDOM_FIELD = {
    "self.all(x, self.all(y, self.all(z, x + y + z >= 0)))": (
        "Many fields have the same rule and the first one that is checked uses up the budget of the object; which one "
        "that is was left to the random order of a Go map."
    ),
}


def without_random_fields(case: Mapping[str, Any], causes: Counter[Cause]) -> Counter[Cause]:
    """Leave out the names of fields where the recording has a random one."""
    properties = case["schema"].get("properties", {})
    shared = [
        rule["rule"]
        for prop in properties.values()
        for rule in prop.get("x-kubernetes-validations", ())
        if rule["rule"] in RANDOM_FIELD
    ]
    if len(shared) < 2:
        return causes
    return Counter(("*", message, reason) for _, message, reason in causes.elements())
