"""`PolicyBindings`: the admission policies that concern a write, with their bindings and parameters.

Validating and mutating policies share it; what a policy does with a write is in ``policies`` and
``mutating_policies``.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from steersman.apiserver.admission.attributes import Attributes
from steersman.apiserver.admission.conditions import Failed
from steersman.apiserver.admission.matching import Matching, converter
from steersman.apiserver.resources.label_selectors import selects
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.apiserver.storage.record import Record
from steersman.cel.values.values import from_json
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json

_NO_PARAMETERS = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"


@dataclass(frozen=True, slots=True)
class Bound:
    """A policy with one of its bindings, both of which match a write."""

    policy: JsonObject
    binding: JsonObject
    #: The version of the resource that the policy's rules name, in which it gets the objects.
    served: ServedResource

    @property
    def spec(self) -> JsonObject:
        """The spec of the policy."""
        spec: JsonObject = self.policy["spec"]
        return spec

    @property
    def is_lenient(self) -> bool:
        """Whether an expression that fails is ignored."""
        return bool(self.spec.get("failurePolicy") == "Ignore")

    @property
    def names(self) -> str:
        """Both names, as messages quote them."""
        return f"'{self.policy['metadata']['name']}' with binding '{self.binding['metadata']['name']}'"

    def seen(self, attributes: Attributes) -> Attributes:
        """Return the write as the policy gets it: with its objects in the version that its rules name."""
        own = attributes.request.served
        if self.served is own:
            return attributes
        convert = converter(own, self.served)
        obj, old = (None if one is None else convert(one) for one in (attributes.obj, attributes.old))
        return replace(attributes, obj=obj, old=old, matched=self.served)


class PolicyBindings:
    """Finds the policies of one kind that concern a write."""

    def __init__(self, objects: ObjectStore, matching: Matching, policies: str, bindings: str) -> None:
        self._objects = objects
        self._matching = matching
        self._policies = policies
        self._bindings = bindings
        self._read: dict[tuple[str, str], tuple[int, JsonObject]] = {}

    def of(self, attributes: Attributes) -> Iterator[Bound]:
        """Yield the policies that match a write with their matching bindings, in the order of their names."""
        bound: dict[str, list[JsonObject]] = {}
        for record in self._objects.records_of(self._bindings):
            binding = self._document(self._bindings, record)
            bound.setdefault(binding["spec"].get("policyName", ""), []).append(binding)
        for record in self._objects.records_of(self._policies) if bound else ():
            if record.name not in bound:
                continue
            policy = self._document(self._policies, record)
            served = self._matched(attributes, policy["spec"].get("matchConstraints") or {})
            if served is None:
                continue
            for binding in bound[record.name]:
                resources = binding["spec"].get("matchResources")
                if not resources or self._matched(attributes, resources, by_default=True) is not None:
                    yield Bound(policy, binding, served)

    def _document(self, resource: str, record: Record) -> JsonObject:
        """Return a policy or a binding, which must not be changed; each version is decoded once."""
        known = self._read.get((resource, record.name))
        if known is None or known[0] != record.version:
            known = self._read[resource, record.name] = record.version, decode_json(record.raw)
        return known[1]

    def _matched(self, attributes: Attributes, match: JsonObject, *, by_default: bool = False) -> ServedResource | None:
        """Return the version in which a policy or a binding matches a request; ``None`` if it does not match."""
        excluded = match.get("excludeResourceRules") or ()
        if excluded and self._matching.served_as(attributes, match, excluded) is not None:
            return None
        rules = match.get("resourceRules") or ()
        unruled = attributes.request.served if by_default else None
        served = self._matching.served_as(attributes, match, rules) if rules else unruled
        return served if served is not None and self._matching.selects(attributes, match) else None

    def namespace(self, attributes: Attributes) -> object:
        """Return the namespace of a write as expressions see it."""
        if not attributes.request.served.namespaced:
            return None
        record = self._objects.store.get("namespaces", "", attributes.namespace)
        return None if record is None else from_json(decode_json(record.raw))

    def parameters(self, attributes: Attributes, bound: Bound) -> list[JsonObject | None]:
        """Return the parameters of a binding; ``[None]`` for a policy without parameters."""
        kind, reference = bound.spec.get("paramKind"), bound.binding["spec"].get("paramRef")
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
