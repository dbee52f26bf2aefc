"""The CRDs and admission policies of operators, generated from their classes."""

from collections.abc import Iterable

from steersman.manager.operator import Operator
from steersman.objects.resource import KubeObject, Unstructured
from steersman.schema.conversions import has_conversions
from steersman.schema.crd import crd_of
from steersman.schema.round_trips import check_round_trips
from steersman.schema.versions import Versions, versions_of
from steersman.webhook.registration.configurations import conversion_by
from steersman.webhook.registration.policies import policy_objects
from steersman.webhook.serving.address import Address


def definitions_of(kinds: Iterable[type[KubeObject]], webhooks: Address | None = None) -> list[Unstructured]:
    """Return the CRDs of the custom kinds among ``kinds``; versions of one kind become one CRD.

    With ``webhooks`` they convert between versions that need it. Raises ``DeclarationError`` for versions whose
    conversion loses a field.
    """
    made = []
    for classes in versions_of(kinds):
        definition = crd_of(*classes)
        if webhooks is not None and has_conversions(classes):
            definition["spec"]["conversion"] = conversion_by(webhooks)
        made.append(Unstructured(definition))
        if len(classes) > 1:
            check_round_trips(Versions(classes))
    return made


def operator_definitions(operators: Iterable[Operator], webhooks: Address | None = None) -> list[Unstructured]:
    """Return the CRDs of every kind that operators reconcile, validate, default or declare."""
    return definitions_of((kind for operator in operators for kind in operator.kinds), webhooks)


def operator_policies(operators: Iterable[Operator]) -> list[Unstructured]:
    """Return the admission policies of operators: the rules that a CRD cannot contain."""
    return [
        Unstructured(policy)
        for operator in operators
        for policy in policy_objects(operator.name, operator.kinds, operator)
    ]
