"""ValidatingAdmissionPolicy: rules of the cluster's administrators, evaluated in the server."""

from collections.abc import Iterator
from dataclasses import dataclass

from steersman.apiserver.access.authorization import Authorizer
from steersman.apiserver.admission.attributes import Attributes
from steersman.apiserver.admission.conditions import Failed, Scope, holds
from steersman.apiserver.admission.configurations import BINDINGS, POLICIES
from steersman.apiserver.admission.matching import Matching
from steersman.apiserver.admission.policy_bindings import Bound, PolicyBindings
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.status import Refusal, details, qualified
from steersman.cel.values.values import from_json
from steersman.json_types import JsonObject

_CODES = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413}
_LONGEST_MESSAGE = 5 << 10


@dataclass(frozen=True, slots=True)
class _Failure:
    """Why a policy rejects a request."""

    message: str
    reason: str = ""


class Policies:
    """Evaluates the validating policies of one server."""

    def __init__(self, objects: ObjectStore, matching: Matching, authorizer: Authorizer) -> None:
        self._bindings = PolicyBindings(objects, matching, POLICIES, BINDINGS)
        self._authorizer = authorizer

    def validate(self, attributes: Attributes) -> Attributes:
        """Reject a write that a policy denies; return it with the warnings of policies that only warn."""
        for bound in self._bindings.of(attributes):
            for failure in self._failures(bound.seen(attributes), bound):
                attributes = self._act(attributes, bound, failure)
        return attributes

    def _failures(self, attributes: Attributes, bound: Bound) -> Iterator[_Failure]:
        """Yield the failed validations of a policy under one binding."""
        spec, lenient = bound.spec, bound.is_lenient
        scope = Scope(attributes, self._authorizer).with_values(namespaceObject=self._bindings.namespace(attributes))
        try:
            parameters = self._bindings.parameters(attributes, bound)
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

    @staticmethod
    def _act(attributes: Attributes, bound: Bound, failure: _Failure) -> Attributes:
        """Warn or reject, as the binding says."""
        actions = bound.binding["spec"].get("validationActions") or ()
        if "Warn" in actions:
            text = f"Validation failed for ValidatingAdmissionPolicy {bound.names}: {failure.message}"
            attributes = attributes.warned([text])
        if "Deny" not in actions:
            return attributes
        text = f"ValidatingAdmissionPolicy {bound.names} denied request: {failure.message}"
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
