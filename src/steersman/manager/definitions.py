"""The custom resource definitions of operators: made from their classes, so that there is nothing to keep in step."""

from collections.abc import Iterable

from steersman.manager.operator import Operator
from steersman.objects.resource import KubeObject, Unstructured
from steersman.schema.crd import crd_of
from steersman.schema.round_trips import check_round_trips
from steersman.schema.versions import Versions, versions_of


def definitions_of(kinds: Iterable[type[KubeObject]]) -> list[Unstructured]:
    """Make the definitions of the custom ones among some kinds; versions of one kind become one definition.

    Raises ``DeclarationError`` for versions between which a field gets lost.
    """
    made = []
    for classes in versions_of(kinds):
        made.append(Unstructured(crd_of(*classes)))
        if len(classes) > 1:
            check_round_trips(Versions(classes))
    return made


def operator_definitions(operators: Iterable[Operator]) -> list[Unstructured]:
    """Make the definitions of everything that operators reconcile or declare."""
    return definitions_of(kind for operator in operators for kind in operator.kinds)
