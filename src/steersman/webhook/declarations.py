"""`AdmissionDeclarations`: the part of an operator that says what may be written."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from steersman.errors import DeclarationError
from steersman.objects.resource import KubeObject
from steersman.schema.constraints import Rule
from steersman.webhook.declaration import (
    AdmissionFunction,
    FailurePolicy,
    Role,
    Webhook,
    WebhookOptions,
    name_of,
)
from steersman.webhook.reviews.admission_review import Operation

K = TypeVar("K", bound=KubeObject)


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """A rule about a kind that an admission policy keeps."""

    kind: type[KubeObject]
    rule: Rule
    on: tuple[Operation, ...] = ("CREATE", "UPDATE")


class AdmissionDeclarations:
    """Functions and rules that are asked before objects are written."""

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
        """Decorate a function that refuses objects of a kind, also a built-in one: it raises ``Deny``.

        It is called with the object as it is to be (with ``DELETE``: as it is) and an ``Admission``: who asks, the
        object as it was, whether it is a dry run, ``warn``. When the function fails, or cannot be reached within
        ``timeout`` seconds, the write is refused; with ``failure="Ignore"`` it passes.
        """
        return self._decorator(
            Role.VALIDATE, kind, WebhookOptions(on=tuple(on), failure=failure, timeout=timeout), name
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
        """Decorate a function that completes objects of a kind, also a built-in one, by changing what it is given.

        It may be called several times for one write, and must give the same each time. The rest is as in ``validate``.
        """
        return self._decorator(Role.DEFAULT, kind, WebhookOptions(on=tuple(on), failure=failure, timeout=timeout), name)

    def rule(self, kind: type[KubeObject], *rules: Rule, on: Sequence[Operation] = ("CREATE", "UPDATE")) -> None:
        """Let the API server itself keep rules about a kind that is not one's own, by an admission policy.

        Rules about one's own kind stand in its class. ``self`` is the object, ``oldSelf`` the object as it was, and
        ``request`` tells who asks; a rule that uses ``oldSelf`` is about updates only.
        """
        operations = WebhookOptions(on=tuple(on)).on
        self._rules += [PolicyRule(kind, rule, operations) for rule in rules]

    @property
    def webhooks(self) -> tuple[Webhook[Any], ...]:
        """The functions that were declared, in order."""
        return tuple(self._webhooks)

    @property
    def rules(self) -> tuple[PolicyRule, ...]:
        """The rules that were declared here; those of classes are theirs."""
        return tuple(self._rules)

    def _decorator(
        self, role: Role, kind: type[K], options: WebhookOptions, name: str
    ) -> Callable[[AdmissionFunction[K]], Webhook[K]]:
        def decorate(function: AdmissionFunction[K]) -> Webhook[K]:
            webhook = Webhook(role, name_of(function, name), kind, function, options)
            if any((known.role, known.name) == (role, webhook.name) for known in self._webhooks):
                raise DeclarationError(f"two functions that {role.value} are named {webhook.name!r}: name= one of them")
            self._webhooks.append(webhook)
            return webhook

        return decorate
