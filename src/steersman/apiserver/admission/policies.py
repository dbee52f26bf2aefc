"""ValidatingAdmissionPolicy: rules of the cluster's administrators, evaluated in the server."""

from collections.abc import Iterator
from dataclasses import dataclass

from steersman.apiserver.access.authorization import Authorizer
from steersman.apiserver.admission.attributes import Attributes
from steersman.apiserver.admission.conditions import Failed, Scope, holds
from steersman.apiserver.admission.configurations import BINDINGS, POLICIES
from steersman.apiserver.admission.matching import Matching
from steersman.apiserver.resources.label_selectors import selects
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.apiserver.status import Refusal, details, qualified
from steersman.apiserver.storage.record import Record
from steersman.cel.values.values import from_json
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json

_CODES = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413}
_NO_PARAMETERS = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
_LONGEST_MESSAGE = 5 << 10


@dataclass(frozen=True, slots=True)
class _Failure:
    """Why a policy rejects a request."""

    message: str
    reason: str = ""


class Policies:
    """Evaluates the policies of one server."""

    def __init__(self, objects: ObjectStore, matching: Matching, authorizer: Authorizer) -> None:
        self._objects = objects
        self._matching = matching
        self._authorizer = authorizer
        self._read: dict[tuple[str, str], tuple[int, JsonObject]] = {}

    def validate(self, attributes: Attributes) -> Attributes:
        """Reject a write that a policy denies; return it with the warnings of policies that only warn."""
        bound: dict[str, list[JsonObject]] = {}
        for record in self._objects.records_of(BINDINGS):
            binding = self._document(BINDINGS, record)
            bound.setdefault(binding["spec"].get("policyName", ""), []).append(binding)
        for record in self._objects.records_of(POLICIES) if bound else ():
            if record.name in bound:
                attributes = self._evaluate(attributes, self._document(POLICIES, record), bound[record.name])
        return attributes

    def _document(self, resource: str, record: Record) -> JsonObject:
        """Return a policy or a binding, which must not be changed; each version is decoded once."""
        known = self._read.get((resource, record.name))
        if known is None or known[0] != record.version:
            known = self._read[resource, record.name] = record.version, decode_json(record.raw)
        return known[1]

    def _evaluate(self, attributes: Attributes, policy: JsonObject, bindings: list[JsonObject]) -> Attributes:
        spec = policy["spec"]
        if not self._concerns(attributes, spec.get("matchConstraints") or {}):
            return attributes
        for binding in bindings:
            resources = binding["spec"].get("matchResources")
            if resources and not self._concerns(attributes, resources, by_default=True):
                continue
            for failure in self._failures(attributes, spec, binding["spec"]):
                attributes = self._act(attributes, policy, binding, failure)
        return attributes

    def _concerns(self, attributes: Attributes, match: JsonObject, *, by_default: bool = False) -> bool:
        """Return whether a policy or a binding matches a request."""
        excluded = match.get("excludeResourceRules") or ()
        if excluded and self._matching.served_as(attributes, match, excluded) is not None:
            return False
        rules = match.get("resourceRules") or ()
        matches = self._matching.served_as(attributes, match, rules) is not None if rules else by_default
        return matches and self._matching.selects(attributes, match)

    def _failures(self, attributes: Attributes, spec: JsonObject, binding: JsonObject) -> Iterator[_Failure]:
        """Yield the failed validations of a policy under one binding."""
        lenient = spec.get("failurePolicy") == "Ignore"
        scope = Scope(attributes, self._authorizer).with_values(namespaceObject=self._namespace(attributes))
        try:
            parameters = self._parameters(attributes, spec, binding)
            if not holds(spec.get("matchConditions") or [], lambda: scope):
                return
        except Failed as error:
            if not lenient:
                yield _Failure(str(error))
            return
        for parameter in parameters:
            seen = scope.with_values(params=from_json(parameter)).with_variables(spec.get("variables") or [])
            for validation in spec.get("validations") or ():
                try:
                    failure = _failure(seen, validation)
                except Failed as error:
                    failure = None if lenient else _Failure(str(error), validation.get("reason") or "")
                if failure is not None:
                    yield failure

    def _namespace(self, attributes: Attributes) -> object:
        if not attributes.request.served.namespaced:
            return None
        record = self._objects.store.get("namespaces", "", attributes.namespace)
        return None if record is None else from_json(decode_json(record.raw))

    def _parameters(self, attributes: Attributes, spec: JsonObject, binding: JsonObject) -> list[JsonObject | None]:
        """Return the parameters of a binding; ``[None]`` for a policy without parameters."""
        kind, reference = spec.get("paramKind"), binding.get("paramRef")
        if kind is None or reference is None:
            return [None]
        served = self._kind_served(kind)
        if served is None:
            raise Failed(
                f"failed to configure binding: failed to find resource referenced by paramKind: "
                f"'{kind.get('apiVersion')}, Kind={kind.get('kind')}'"
            )
        namespace = (reference.get("namespace") or attributes.namespace) if served.namespaced else ""
        found: list[JsonObject | None] = list(self._found(served, namespace, reference))
        if not found and reference.get("parameterNotFoundAction") == "Deny":
            raise Failed(_NO_PARAMETERS)
        return found

    def _found(self, served: ServedResource, namespace: str, reference: JsonObject) -> Iterator[JsonObject]:
        if name := reference.get("name"):
            record = self._objects.get(served, namespace, name)
            if record is not None:
                yield self._objects.document(served, record)
            return
        for record in self._objects.records(served, namespace or None):
            if selects(reference.get("selector"), record.labels):
                yield self._objects.document(served, record)

    def _kind_served(self, kind: JsonObject) -> ServedResource | None:
        wanted = (kind.get("apiVersion"), kind.get("kind"))
        return next((item for item in self._matching.catalog if (item.api_version, item.kind) == wanted), None)

    @staticmethod
    def _act(attributes: Attributes, policy: JsonObject, binding: JsonObject, failure: _Failure) -> Attributes:
        """Warn or reject, as the binding says."""
        names = f"'{policy['metadata']['name']}' with binding '{binding['metadata']['name']}'"
        actions = binding["spec"].get("validationActions") or ()
        if "Warn" in actions:
            text = f"Validation failed for ValidatingAdmissionPolicy {names}: {failure.message}"
            attributes = attributes.warned([text])
        if "Deny" not in actions:
            return attributes
        text = f"ValidatingAdmissionPolicy {names} denied request: {failure.message}"
        reason = failure.reason or "Invalid"
        served, name = attributes.request.served, attributes.name
        target = qualified(served.plural, served.group) + (f' "{name}"' if name else "")
        told = {**details(name, served.group, served.plural), "causes": [{"message": text}]}
        message, warnings = f"{target} is forbidden: {text}", attributes.warnings
        raise Refusal(_CODES.get(reason, 422), reason, message, details=told, warnings=warnings)


def _failure(scope: Scope, validation: JsonObject) -> _Failure | None:
    """Evaluate one validation; return ``None`` if it is satisfied."""
    if scope.evaluate(validation["expression"]) is True:
        return None
    message = _message(scope, validation) or f"failed expression: {validation['expression'].strip()}"
    return _Failure(message, validation.get("reason") or "")


def _message(scope: Scope, validation: JsonObject) -> str:
    """Return the message of a validation: the value of its expression, or its fixed text."""
    written = str(validation.get("message") or "").strip()
    if not validation.get("messageExpression"):
        return written
    try:
        made = scope.evaluate(validation["messageExpression"])
    except Failed:
        return written
    if made.__class__ is not str or not made.strip() or "\n" in made or len(made) > _LONGEST_MESSAGE:
        return written
    return str(made).strip()
