"""`AdmissionDeclarations`: the webhooks and admission rules that an operator declares."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from steersman.errors import DeclarationError
from steersman.objects.resource import KubeObject
from steersman.schema.constraints import Rule
from steersman.webhook.declaration import (
    AdmissionFunction,
    FailurePolicy,
    Webhook,
    WebhookOptions,
    WebhookRole,
    name_of,
)
from steersman.webhook.reviews.admission_review import Operation

K = TypeVar("K", bound=KubeObject)


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """A rule about a kind that the API server enforces by an admission policy."""

    kind: type[KubeObject]
    rule: Rule
    on: tuple[Operation, ...] = ("CREATE", "UPDATE")


class WebhookOwner(Protocol):
    """What this package needs of an operator: its name, its webhooks, and the kinds whose versions it converts."""

    @property
    def name(self) -> str:
        """Name of the operator, its field manager and its configurations."""

    @property
    def webhooks(self) -> tuple[Webhook[Any], ...]:
        """Declared webhooks, in order."""

    @property
    def kinds(self) -> tuple[type[KubeObject], ...]:
        """Every kind that is reconciled, validated, defaulted or declared."""


class AdmissionDeclarations:
    """Webhooks and rules that are checked before objects are written."""

    def __init__(self) -> None:
        self._webhooks: list[Webhook[Any]] = []
        self._rules: list[PolicyRule] = []

    def validate(
        self,
        kind: type[K],
        *,
        on: Sequence[Operation] = ("CREATE", "UPDATE"),
        failure: FailurePolicy = "Fail",
        timeout: int = 10,
        name: str = "",
    ) -> Callable[[AdmissionFunction[K]], Webhook[K]]:
        """Decorate a function that rejects objects of a kind, custom or built-in, by raising ``Deny``.

        It is called with the new object (for ``DELETE`` with the existing one) and an ``Admission``: the user, the old
        object, whether it is a dry run, and ``warn``. If the function fails, or does not answer within ``timeout``
        seconds, the write is rejected; with ``failure="Ignore"`` it is allowed.
        """
        return self._decorator(
            WebhookRole.VALIDATE, kind, WebhookOptions(on=tuple(on), failure=failure, timeout=timeout), name
        )

    def default(
        self,
        kind: type[K],
        *,
        on: Sequence[Operation] = ("CREATE", "UPDATE"),
        failure: FailurePolicy = "Fail",
        timeout: int = 10,
        name: str = "",
    ) -> Callable[[AdmissionFunction[K]], Webhook[K]]:
        """Decorate a function that sets defaults in objects of a kind, custom or built-in, by changing its argument.

        It may be called several times for one write, and must have the same result each time. The options are those of
        ``validate``.
        """
        return self._decorator(
            WebhookRole.DEFAULT, kind, WebhookOptions(on=tuple(on), failure=failure, timeout=timeout), name
        )

    def rule(self, kind: type[KubeObject], *rules: Rule, on: Sequence[Operation] = ("CREATE", "UPDATE")) -> None:
        """Declare CEL rules about a kind of another project; the API server enforces them by an admission policy.

        Rules about a kind of your own belong into its class. ``self`` is the new object, ``oldSelf`` the old one, and
        ``request`` has the user; a rule that uses ``oldSelf`` applies to updates only.
        """
        operations = WebhookOptions(on=tuple(on)).on
        self._rules += [PolicyRule(kind, rule, operations) for rule in rules]

    @property
    def webhooks(self) -> tuple[Webhook[Any], ...]:
        """Declared webhooks, in order."""
        return tuple(self._webhooks)

    @property
    def rules(self) -> tuple[PolicyRule, ...]:
        """Declared rules, in order; without those in the classes of kinds."""
        return tuple(self._rules)

    def _decorator(
        self, role: WebhookRole, kind: type[K], options: WebhookOptions, name: str
    ) -> Callable[[AdmissionFunction[K]], Webhook[K]]:
        def decorate(function: AdmissionFunction[K]) -> Webhook[K]:
            webhook = Webhook(role, name_of(function, name), kind, function, options)
            if any((known.role, known.name) == (role, webhook.name) for known in self._webhooks):
                raise DeclarationError(
                    f"there are two {role.value} webhooks named {webhook.name!r}: pass name= to one of them"
                )
            self._webhooks.append(webhook)
            return webhook

        return decorate
