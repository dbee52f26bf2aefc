"""Mutating and validating webhooks: programs outside of the server that change or reject writes."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from steersman.apiserver.access.authorization import Authorizer
from steersman.apiserver.admission.attributes import Attributes
from steersman.apiserver.admission.conditions import Failed, Scope, holds
from steersman.apiserver.admission.configurations import MUTATING, VALIDATING
from steersman.apiserver.admission.matching import Matching, converter
from steersman.apiserver.admission.reinvocation import Rounds
from steersman.apiserver.admission.reviews import WebhookDecision, decision_of, denial, failure, internal, review_of
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.apiserver.status import Refusal, advance
from steersman.apiserver.storage.record import Record
from steersman.apiserver.webhook_calls.replay import Question, Waits
from steersman.apiserver.webhook_calls.targets import CallFailed, WebhookOptions, target_of, url_of
from steersman.golang.equality import json_equal
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json, encode_json
from steersman.protocol.patches import PatchError, apply_json_patch
from steersman.randomness import Randomness
from steersman.validation.wire_types import WireTypeError

_USUAL_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Webhook:
    """One webhook of a configuration."""

    #: Identifies a webhook: the name of its configuration, and its index there.
    key: tuple[str, int]
    spec: JsonObject

    @property
    def name(self) -> str:
        """The name of the webhook in messages."""
        return str(self.spec["name"])

    @property
    def must_answer(self) -> bool:
        """Whether a write is rejected when the webhook cannot be called."""
        return bool(self.spec.get("failurePolicy", "Fail") == "Fail")


@dataclass(frozen=True, slots=True)
class _Invocation:
    """A webhook to be called about a write, with the version of the resource that it gets."""

    webhook: Webhook
    served: ServedResource


class Webhooks:
    """Calls the webhooks of one server."""

    def __init__(
        self,
        objects: ObjectStore,
        matching: Matching,
        authorizer: Authorizer,
        randomness: Randomness,
        options: WebhookOptions | None,
    ) -> None:
        self._objects = objects
        self._matching = matching
        self._authorizer = authorizer
        self._randomness = randomness
        self._options = options
        #: Decoded configurations with their versions, so that each version is decoded once.
        self._read: dict[tuple[str, str], tuple[int, list[Webhook]]] = {}

    def mutate(self, attributes: Attributes, rounds: Rounds) -> Attributes:
        """Return the write as mutating webhooks change it, called one after another."""
        phase = "again" if rounds.is_again else "first"
        for webhook in self._webhooks(MUTATING):
            if rounds.skips(webhook.key):
                continue
            invocation = advance(partial(self._invocation, webhook), attributes)
            if invocation is None:
                continue
            after = advance(partial(self._mutated, invocation, phase), attributes)
            if after.obj is not attributes.obj:
                rounds.changed()
            attributes = after
            if webhook.spec.get("reinvocationPolicy") == "IfNeeded":
                rounds.asked.add(webhook.key)
        rounds.end(attributes.obj)
        return attributes

    def validate(self, attributes: Attributes) -> Attributes:
        """Call all validating webhooks at the same time; the first rejection, in their order, counts."""
        found = [advance(partial(self._invocation, webhook), attributes) for webhook in self._webhooks(VALIDATING)]
        invocations = [invocation for invocation in found if invocation is not None]
        decisions = advance(partial(self._decisions, invocations, "validate", mutating=False), attributes)
        for invocation, decision in zip(invocations, decisions, strict=True):
            if decision is not None:
                attributes = attributes.warned(decision.warnings)
                advance(partial(_check_allowed, invocation.webhook, decision), attributes)
        return attributes

    def _webhooks(self, resource: str) -> Iterator[Webhook]:
        """Yield all webhooks, in the order of the names of their configurations."""
        for record in self._objects.records_of(resource):
            yield from self._webhooks_of(resource, record)

    def _webhooks_of(self, resource: str, record: Record) -> list[Webhook]:
        known = self._read.get((resource, record.name))
        if known is None or known[0] != record.version:
            specs = decode_json(record.raw).get("webhooks") or ()
            known = record.version, [Webhook((record.name, place), spec) for place, spec in enumerate(specs)]
            self._read[resource, record.name] = known
        return known[1]

    def _invocation(self, webhook: Webhook, attributes: Attributes) -> _Invocation | None:
        """Return in which version of the resource a webhook is called; ``None`` if it is not called."""
        spec = webhook.spec
        served = self._matching.served_as(attributes, spec, spec.get("rules") or ())
        if served is None or not self._matching.selects(attributes, spec):
            return None
        try:
            if not holds(spec.get("matchConditions") or [], lambda: Scope(attributes, self._authorizer)):
                return None
        except Failed as error:
            if webhook.must_answer:
                raise attributes.request.served.forbidden(attributes.name, str(error)) from None
            return None
        if attributes.dry_run and spec.get("sideEffects") not in ("None", "NoneOnDryRun"):
            text = f'admission webhook "{webhook.name}" does not support dry run'
            raise Refusal(400, "BadRequest", text)
        return _Invocation(webhook, served)

    def _decisions(
        self, invocations: list[_Invocation], phase: str, attributes: Attributes, *, mutating: bool
    ) -> list[WebhookDecision | None]:
        """Return the replies of webhooks, ``None`` for failed calls that are ignored; raise `Waits` without replies."""
        answers = attributes.request.context.answers
        assert answers is not None, "requests that cannot wait call no webhooks"  # noqa: S101 - the chain checks that
        pending: list[Question] = []
        keys = []
        for invocation in invocations:
            review = self._request(attributes, invocation.served)
            key = (phase, invocation.webhook.key, encode_json(review))
            keys.append(key)
            if key not in answers:
                pending.append(self._question(answers, key, invocation, review, mutating=mutating))
        if pending:
            raise Waits(pending)
        return [self._settled(answers[key], invocation) for key, invocation in zip(keys, invocations, strict=True)]

    @staticmethod
    def _settled(answer: WebhookDecision | CallFailed, invocation: _Invocation) -> WebhookDecision | None:
        if isinstance(answer, WebhookDecision):
            return answer
        if invocation.webhook.must_answer:
            raise failure(invocation.webhook.name, answer)
        return None

    def _question(
        self,
        answers: dict[Any, object],
        key: tuple[object, ...],
        invocation: _Invocation,
        review: JsonObject,
        *,
        mutating: bool,
    ) -> Question:
        async def ask() -> None:
            try:
                answers[key] = await self._call(invocation.webhook, review, mutating=mutating)
            except CallFailed as error:
                answers[key] = error

        return ask

    async def _call(self, webhook: Webhook, review: JsonObject, *, mutating: bool) -> WebhookDecision:
        config, seconds = webhook.spec["clientConfig"], webhook.spec.get("timeoutSeconds") or _USUAL_SECONDS
        suffix = f"?timeout={seconds}s"
        shown = f"{url_of(config)}{suffix}"
        if self._options is None:
            raise CallFailed(f'Post "{shown}": this server was started without a way to call webhooks')
        uid = self._randomness.uid()
        body = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {"uid": uid, **review}}
        try:
            target = target_of(config, self._options)
            target = replace(target, url=f"{target.url}{suffix}")
            reply = await self._options.caller(target, encode_json(body), float(seconds))
        except CallFailed as error:
            raise CallFailed(f'Post "{shown}": {error}') from None
        return decision_of(reply, uid, mutating=mutating)

    def _request(self, attributes: Attributes, served: ServedResource) -> JsonObject:
        convert = converter(attributes.request.served, served)
        obj = None if attributes.obj is None else convert(attributes.obj)
        old = None if attributes.old is None else convert(attributes.old)
        return review_of(attributes, served, obj, old)

    def _mutated(self, invocation: _Invocation, phase: str, attributes: Attributes) -> Attributes:
        """Return the write as one mutating webhook changed it."""
        decision = self._decisions([invocation], phase, attributes, mutating=True)[0]
        if decision is None:
            return attributes
        obj = advance(partial(self._patched, invocation, attributes), decision)
        return replace(attributes.warned(decision.warnings), obj=obj)

    def _patched(self, invocation: _Invocation, attributes: Attributes, decision: WebhookDecision) -> JsonObject | None:
        """Return the object with a webhook's patch; the same one if it changes nothing."""
        _check_allowed(invocation.webhook, decision, attributes)
        if decision.patch is None:
            return attributes.obj
        name, own = invocation.webhook.name, attributes.request.served
        if attributes.obj is None:
            text = (
                f'admission webhook "{name}" attempted to modify the object, which is not supported for this operation'
            )
            raise internal(text)
        before = converter(own, invocation.served)(attributes.obj)
        try:
            patched = apply_json_patch(before, decision.patch)
        except PatchError as error:
            raise internal(str(error)) from None
        after = converter(invocation.served, own)(self._reread(attributes, invocation.served, patched))
        return attributes.obj if json_equal(after, attributes.obj) else after

    @staticmethod
    def _reread(attributes: Attributes, served: ServedResource, patched: JsonObject) -> JsonObject:
        """Read a patched object as its kind: unknown fields are dropped, defaults are filled in."""
        if attributes.subresource not in ("", "status", "finalize", "approval", "ephemeralcontainers", "resize"):
            return patched
        try:
            return served.strategy.read(patched).obj
        except WireTypeError as error:
            raise internal(str(error)) from None


def _check_allowed(webhook: Webhook, decision: WebhookDecision, _attributes: Attributes) -> None:
    """Reject a write that a webhook does not allow."""
    if not decision.allowed:
        raise denial(webhook.name, decision.status)
