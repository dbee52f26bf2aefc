"""MutatingAdmissionPolicy: changes that the cluster's administrators make to writes, evaluated in the server.

The invocations of a round (policy, binding, parameter) are found before the first of them changes the object. A failed
expression rejects the write at the end of the round, unless its policy is lenient: the others still see it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from steersman.apiserver.access.authorization import Authorizer
from steersman.apiserver.admission.attributes import Attributes
from steersman.apiserver.admission.conditions import Failed, Scope, holds
from steersman.apiserver.admission.configurations import MUTATING_BINDINGS, MUTATING_POLICIES
from steersman.apiserver.admission.matching import Matching, converter
from steersman.apiserver.admission.patch_values import configuration_of, operations_of
from steersman.apiserver.admission.policy_bindings import Bound, PolicyBindings
from steersman.apiserver.admission.reinvocation import Rounds
from steersman.apiserver.builtin.types import type_of
from steersman.apiserver.managed_fields.field_types import FieldType
from steersman.apiserver.managed_fields.merge import merge
from steersman.apiserver.managed_fields.typed import TypeMismatch, atomic_paths, checked_fields_of
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.apiserver.status import Refusal, details, internal_error
from steersman.cel.values.values import from_json
from steersman.golang.equality import json_equal
from steersman.json_types import JsonObject
from steersman.protocol.patches import PatchError, TestFailed, apply_json_patch
from steersman.validation.wire_types import WireTypeError

#: Subresources whose objects are those of the resource itself.
_WHOLE = frozenset({"", "status", "finalize", "approval", "ephemeralcontainers", "resize"})


@dataclass(frozen=True, slots=True)
class _Invocation:
    """A policy to be evaluated, with one of its bindings and one of that binding's parameters."""

    bound: Bound
    parameter: JsonObject | None

    @property
    def key(self) -> tuple[str, ...]:
        """What makes two invocations the same."""
        names = (self.bound.policy["metadata"]["name"], self.bound.binding["metadata"]["name"])
        metadata = (self.parameter or {}).get("metadata") or {}
        return (*names, metadata.get("namespace", ""), metadata.get("name", ""))


@dataclass(frozen=True, slots=True)
class _Failure:
    """Why a policy rejects a write."""

    message: str
    reason: str


class MutatingPolicies:
    """Evaluates the mutating policies of one server."""

    def __init__(self, objects: ObjectStore, matching: Matching, authorizer: Authorizer) -> None:
        self._bindings = PolicyBindings(objects, matching, MUTATING_POLICIES, MUTATING_BINDINGS)
        self._authorizer = authorizer

    def mutate(self, attributes: Attributes, rounds: Rounds) -> Attributes:
        """Return the write as the policies change it; raise `Refusal` if one of them fails."""
        failures: list[_Failure] = []
        for invocation in list(self._invocations(attributes, failures)):
            attributes = self._invoke(invocation, attributes, rounds, failures)
        rounds.end(attributes.obj)
        if failures:
            raise _denial(attributes, failures)
        return attributes

    def _invocations(self, attributes: Attributes, failures: list[_Failure]) -> Iterator[_Invocation]:
        for bound in self._bindings.of(attributes):
            try:
                parameters = self._bindings.parameters(attributes, bound)
            except Failed as error:
                _note(failures, bound, str(error), "Forbidden")
                continue
            for parameter in parameters:
                yield _Invocation(bound, parameter)

    def _invoke(
        self, invocation: _Invocation, attributes: Attributes, rounds: Rounds, failures: list[_Failure]
    ) -> Attributes:
        """Return the write with all mutations of one invocation."""
        bound = invocation.bound
        try:
            if not holds(bound.spec.get("matchConditions") or [], lambda: self._scope(invocation, attributes)):
                return attributes
        except Failed as error:
            _note(failures, bound, str(error), "Invalid")
            return attributes
        if rounds.skips(invocation.key):
            return attributes
        before = attributes.obj
        for mutation in bound.spec.get("mutations") or () if before is not None else ():
            try:
                attributes = self._mutated(invocation, mutation, attributes)
            except Failed as error:
                _note(failures, bound, str(error), "Invalid")
        if attributes.obj is not before:
            rounds.changed()
        if bound.spec.get("reinvocationPolicy") == "IfNeeded":
            rounds.asked.add(invocation.key)
        return attributes

    def _scope(self, invocation: _Invocation, attributes: Attributes) -> Scope:
        scope = Scope(invocation.bound.seen(attributes), self._authorizer)
        namespace = self._bindings.namespace(attributes)
        scope = scope.with_values(namespaceObject=namespace, params=from_json(invocation.parameter))
        return scope.with_variables(invocation.bound.spec.get("variables") or [])

    def _mutated(self, invocation: _Invocation, mutation: JsonObject, attributes: Attributes) -> Attributes:
        """Return the write with one mutation; the same if it changes nothing."""
        bound, own = invocation.bound, attributes.request.served
        scope, live = self._scope(invocation, attributes), bound.seen(attributes).obj
        if mutation["patchType"] == "JSONPatch":
            patched = _json_patched(live, scope.patch(mutation["jsonPatch"]["expression"]))
            is_strict = True
        else:
            value, kind = scope.patch(mutation["applyConfiguration"]["expression"]), _type_of(attributes, bound.served)
            patched = _configured(live, value, kind)
            is_strict = False
        read = _read(patched, bound.served, is_strict=is_strict) if attributes.subresource in _WHOLE else patched
        after = converter(bound.served, own)(read)
        return attributes if json_equal(after, attributes.obj) else replace(attributes, obj=after)


def _note(failures: list[_Failure], bound: Bound, why: str, reason: str) -> None:
    """Note a failure, unless the policy ignores failures."""
    if not bound.is_lenient:
        failures.append(_Failure(f"policy {bound.names} denied request: {why}", reason))


def _denial(attributes: Attributes, failures: list[_Failure]) -> Refusal:
    served = attributes.request.served
    told = details(attributes.name, served.group, served.plural)
    told["causes"] = [{"message": failure.message} for failure in failures]
    return Refusal(403, failures[0].reason, failures[0].message, details=told, warnings=attributes.warnings)


def _type_of(attributes: Attributes, served: ServedResource) -> FieldType:
    if attributes.subresource in _WHOLE:
        kind: FieldType = served.strategy.ownership_type()
        return kind
    try:
        return type_of(attributes.kind)
    except KeyError:
        group, version, name = attributes.kind
        why = f"no corresponding type for {group}/{version}, Kind={name}"
        raise Failed(f"error applying patch: failed to convert patch object to typed object: {why}") from None


def _json_patched(live: Any, value: object) -> JsonObject:
    operations = operations_of(value)
    try:
        patched: JsonObject = apply_json_patch(live, operations)
    except TestFailed:
        return live  # type: ignore[no-any-return]  # a document
    except PatchError as error:
        raise Failed(f"JSON Patch: {error}") from None
    return patched


def _configured(live: Any, value: object, kind: FieldType) -> JsonObject:
    """Return the object with an apply configuration merged into it; fields keep their owners."""
    config = {"apiVersion": live["apiVersion"], "kind": live["kind"], **configuration_of(value)}
    try:
        checked_fields_of(config, kind)
        if atomics := atomic_paths(config, kind):
            why = f"may not mutate atomic arrays, maps or structs: {', '.join(atomics)}"
            raise Failed(f"error applying patch: invalid ApplyConfiguration: {why}")
        merged: JsonObject = merge(live, config, kind)
    except TypeMismatch as error:
        raise Failed(f"error applying patch: failed to convert patch object to typed object: {error}") from None
    except ValueError as error:
        raise Failed(f"error applying patch: failed to merge patch: {error}") from None
    return merged


def _read(patched: JsonObject, served: ServedResource, *, is_strict: bool) -> JsonObject:
    """Read a changed object as its kind and fill in defaults; reject unknown fields of a JSON patch."""
    try:
        read = served.strategy.read(patched)
    except WireTypeError as error:
        if is_strict:
            raise internal_error(str(error)) from None
        raise Failed(str(error)) from None
    if is_strict and read.unknown and served.builtin:
        raise internal_error(f"strict decoding error: {', '.join(read.unknown)}")
    return read.obj
