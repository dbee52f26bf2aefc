"""`Admission`: webhooks, policies and permissions that change or reject a write, in their order.

The write path calls it twice (see ``verbs/write_path``): `Admission.mutate` before an object is validated, and
`Admission.validate` after that.
"""

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from steersman.apiserver.access.authorization import is_privileged
from steersman.apiserver.access.rbac.authorizer import Rbac
from steersman.apiserver.admission.attributes import CONNECT, CREATE, DELETE, UPDATE, Attributes, write_document
from steersman.apiserver.admission.configurations import (
    BINDINGS,
    MUTATING,
    MUTATING_BINDINGS,
    MUTATING_POLICIES,
    POLICIES,
    VALIDATING,
)
from steersman.apiserver.admission.guards import Guards
from steersman.apiserver.admission.matching import Matching, is_exempt
from steersman.apiserver.admission.quotas import Quotas
from steersman.apiserver.admission.reinvocation import Rounds
from steersman.apiserver.messages.api_request import ApiRequest
from steersman.apiserver.messages.options import WriteOptions
from steersman.apiserver.resources.catalog import Catalog
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.status import Refusal
from steersman.apiserver.webhook_calls.targets import WebhookOptions
from steersman.json_types import JsonObject
from steersman.randomness import Randomness

if TYPE_CHECKING:
    from steersman.apiserver.admission.mutating_policies import MutatingPolicies
    from steersman.apiserver.admission.policies import Policies
    from steersman.apiserver.admission.webhooks import Webhooks

_CONFIGURATIONS = frozenset({MUTATING, VALIDATING, POLICIES, BINDINGS, MUTATING_POLICIES, MUTATING_BINDINGS})


class Review(NamedTuple):
    """The outcome of admission: the object, perhaps changed, and warnings."""

    obj: JsonObject
    warnings: tuple[str, ...] = ()


class Admission:
    """Admits writes, changed or unchanged, or rejects them."""

    def __init__(
        self, objects: ObjectStore, catalog: Catalog, rbac: Rbac, randomness: Randomness, options: WebhookOptions | None
    ) -> None:
        self._objects = objects
        self._matching = Matching(objects, catalog)
        self._rbac = rbac
        self._randomness = randomness
        self._options = options
        self._guards = Guards(rbac)
        self.quotas = Quotas(objects, catalog)
        #: Whether there is any webhook or policy: most servers never have one.
        self.is_active = False
        objects.listen(_CONFIGURATIONS, lambda _: self.look_again())

    def look_again(self) -> None:
        """Read the configurations again: one was written, or the whole store was replaced."""
        for name in ("_webhooks", "_policies", "_mutating_policies"):
            self.__dict__.pop(name, None)
        self.is_active = any(self._objects.store.count(resource) for resource in _CONFIGURATIONS)
        self.quotas.look_again()

    # Created with the first configuration, and again when one changes: most servers never need them, and CEL, the
    # language of conditions and policies, is slow to import.

    @cached_property
    def _webhooks(self) -> "Webhooks":
        from steersman.apiserver.admission.webhooks import Webhooks  # noqa: PLC0415 - see above

        return Webhooks(self._objects, self._matching, self._rbac, self._randomness, self._options)

    @cached_property
    def _policies(self) -> "Policies":
        from steersman.apiserver.admission.policies import Policies  # noqa: PLC0415 - see above

        return Policies(self._objects, self._matching, self._rbac)

    @cached_property
    def _mutating_policies(self) -> "MutatingPolicies | None":
        """The mutating policies; ``None`` without any, so that they cost nothing."""
        if not self._objects.store.count(MUTATING_BINDINGS):
            return None
        from steersman.apiserver.admission.mutating_policies import MutatingPolicies  # noqa: PLC0415 - see above

        return MutatingPolicies(self._objects, self._matching, self._rbac)

    def concerns(self, request: ApiRequest) -> bool:
        """Return whether mutating admission can matter for a request: a quick check before the expensive one."""
        return self.is_active or not is_privileged(request.user)

    def mutate(self, request: ApiRequest, obj: JsonObject, old: JsonObject | None, options: WriteOptions) -> Review:
        """Return the object as policies and webhooks change it; reject content that the user may not write."""
        warnings: tuple[str, ...] = ()
        if self._reviews(request):
            reviewed = self._mutated(_attributes(request, obj, old, options))
            obj, warnings = reviewed.obj or obj, reviewed.warnings
        try:
            self._guards.check(request, obj, old)
        except Refusal as refusal:
            raise refusal.after(warnings) from None
        return Review(obj, warnings)

    def _mutated(self, attributes: Attributes) -> Attributes:
        """Run mutating admission: policies, then webhooks; a second time if the object has changed."""
        waits = attributes.request.context.answers is not None
        plugins = [(plugin, Rounds()) for plugin in (self._mutating_policies, self._webhooks if waits else None)]
        for plugin, rounds in plugins:
            if plugin is not None:
                attributes = plugin.mutate(attributes, rounds)
        if any(rounds.has_changed for _, rounds in plugins):
            for plugin, rounds in plugins:
                if plugin is not None:
                    rounds.begin_again(attributes.obj)
                    attributes = plugin.mutate(attributes, rounds)
        return attributes

    def validate(self, request: ApiRequest, obj: JsonObject, old: JsonObject | None, options: WriteOptions) -> Review:
        """Reject an object that a policy or a validating webhook rejects."""
        if not self._reviews(request):
            return Review(obj)
        return Review(obj, self._validate(_attributes(request, obj, old, options)).warnings)

    def review_unstored(self, request: ApiRequest, obj: JsonObject, options: WriteOptions) -> Review:
        """Mutate and validate an object that is created without being stored, such as an eviction."""
        mutated = self.mutate(request, obj, None, options)
        return self._then_validate(request, mutated, None, options)

    def review_scale(self, request: ApiRequest, scale: JsonObject, old: JsonObject, options: WriteOptions) -> Review:
        """Mutate and validate the scale of an object."""
        mutated = self.mutate(request, scale, old, options)
        return self._then_validate(request, mutated, old, options)

    def _then_validate(
        self, request: ApiRequest, mutated: Review, old: JsonObject | None, options: WriteOptions
    ) -> Review:
        try:
            validated = self.validate(request, mutated.obj, old, options)
        except Refusal as refusal:
            raise refusal.after(mutated.warnings) from None
        return Review(mutated.obj, mutated.warnings + validated.warnings)

    def delete(self, request: ApiRequest, old: JsonObject, options: JsonObject, *, dry_run: bool) -> tuple[str, ...]:
        """Reject a delete that a policy or a webhook rejects; return the warnings about it."""
        if not self._reviews(request):
            return ()
        attributes = Attributes(request, DELETE, None, old, options, dry_run, request.info.name)
        if request.context.answers is not None:
            attributes = self._webhooks.mutate(attributes, Rounds())
        return self._validate(attributes).warnings

    def connect(self, request: ApiRequest, options: JsonObject) -> Review:
        """Mutate and validate the options of a connection, such as the command of an exec."""
        attributes = self._mutated(
            Attributes(request, CONNECT, options, None, None, dry_run=False, name=request.info.name)
        )
        attributes = self._validate(attributes)
        return Review(attributes.obj or options, attributes.warnings)

    def _reviews(self, request: ApiRequest) -> bool:
        return self.is_active and not is_exempt(request.served)

    def _validate(self, attributes: Attributes) -> Attributes:
        attributes = self._policies.validate(attributes)
        if attributes.request.context.answers is not None:
            attributes = self._webhooks.validate(attributes)
        return attributes


def _attributes(request: ApiRequest, obj: JsonObject, old: JsonObject | None, options: WriteOptions) -> Attributes:
    """Return the description of a create or an update."""
    kind, operation = ("CreateOptions", CREATE) if old is None else ("UpdateOptions", UPDATE)
    document = write_document(kind, options, given_validation=request.query.text("fieldValidation"))
    name = "" if old is not None else (obj.get("metadata") or {}).get("name", "")
    return Attributes(request, operation, obj, old, document, options.dry_run, name or request.info.name)
