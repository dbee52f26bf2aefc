"""Label selectors as objects carry them: ``matchLabels`` and ``matchExpressions``."""

from collections.abc import Mapping
from typing import Any

from steersman.objects.selectors import LabelSelector, LabelSelectorRequirement

Document = dict[str, Any]


def selector_of(document: Document | None) -> LabelSelector:
    """Read a selector; an empty one selects everything."""
    document = document or {}
    expressions = [
        LabelSelectorRequirement(key=item["key"], operator=item["operator"], values=item.get("values"))
        for item in document.get("matchExpressions") or ()
    ]
    return LabelSelector.from_expressions(document.get("matchLabels"), expressions)


def selects(document: Document | None, labels: Mapping[str, str] | None) -> bool:
    """Tell whether a selector selects something with these labels."""
    return selector_of(document).matches(labels)
