"""Label selectors in the form that objects have them: ``matchLabels`` and ``matchExpressions``.

The one place that evaluates and prints them. A missing selector means everything to some fields and nothing to others,
so callers decide about ``None``; here it is an empty selector, which matches everything.
"""

from collections.abc import Mapping

from steersman.json_types import JsonObject
from steersman.objects.selectors import LabelSelector, LabelSelectorRequirement

_FORMATS = {"In": "{} in ({})", "NotIn": "{} notin ({})", "Exists": "{}", "DoesNotExist": "!{}"}


def selector_of(document: JsonObject | None) -> LabelSelector:
    """Read a selector."""
    document = document or {}
    expressions = [
        LabelSelectorRequirement(key=item["key"], operator=item["operator"], values=item.get("values"))
        for item in document.get("matchExpressions") or ()
    ]
    return LabelSelector.from_expressions(document.get("matchLabels"), expressions)


def selects(document: JsonObject | None, labels: Mapping[str, str] | None) -> bool:
    """Return whether a selector matches labels."""
    return selector_of(document).matches(labels)


def selector_text(document: JsonObject | None) -> str:
    """Return a selector as kubectl prints it: labels sorted, then expressions; empty for an empty selector."""
    document = document or {}
    parts = [f"{key}={value}" for key, value in sorted((document.get("matchLabels") or {}).items())]
    for expression in document.get("matchExpressions") or ():
        values = ",".join(sorted(expression.get("values") or ()))
        parts.append(_FORMATS[expression["operator"]].format(expression["key"], values))
    return ",".join(parts)
