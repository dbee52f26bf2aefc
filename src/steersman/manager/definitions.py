"""The custom resource definitions of operators: made from their classes, so that there is nothing to keep in step."""

from collections.abc import Iterable
from typing import Any

from steersman.errors import DeclarationError
from steersman.manager.operator import Operator
from steersman.objects.resource import KubeObject, Unstructured, resource_of
from steersman.schema.crd import crd_of
from steersman.schema.declaration import declaration_of


def definitions_of(kinds: Iterable[type[KubeObject]]) -> list[Unstructured]:
    """Make the definitions of the custom ones among some kinds; versions of one kind become one definition."""
    versions: dict[tuple[str, str], list[Any]] = {}
    for kind in dict.fromkeys(kinds):
        if is_custom(kind):
            gvk = resource_of(kind).gvk
            versions.setdefault((gvk.group, gvk.kind), []).append(kind)
    return [Unstructured(crd_of(*classes)) for classes in versions.values()]


def operator_definitions(operators: Iterable[Operator]) -> list[Unstructured]:
    """Make the definitions of everything that operators reconcile or declare."""
    return definitions_of(kind for operator in operators for kind in operator.kinds)


def is_custom(kind: type[KubeObject]) -> bool:
    """Tell whether a kind is one of somebody's own: it needs a definition."""
    try:
        declaration_of(kind)
    except DeclarationError:
        return False
    return True
