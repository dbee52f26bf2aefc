"""Which requests a webhook or a policy matches: rules about resources, and label selectors."""

from collections.abc import Callable, Iterable

from steersman.apiserver.admission.attributes import Attributes
from steersman.apiserver.resources.catalog import Catalog
from steersman.apiserver.resources.label_selectors import selects
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.apiserver.status import not_found
from steersman.json_types import JsonObject

#: Configurations of admission are not subject to themselves.
_EXEMPT = frozenset(
    {
        "mutatingwebhookconfigurations",
        "validatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
    }
)


def is_exempt(served: ServedResource) -> bool:
    """Return whether a resource is exempt from webhooks and policies."""
    return served.group == "admissionregistration.k8s.io" and served.plural in _EXEMPT


class Matching:
    """Matches configurations with requests."""

    def __init__(self, objects: ObjectStore, catalog: Catalog) -> None:
        self._objects = objects
        self.catalog = catalog
        #: All versions of a resource, by stored name; made again when the catalog changes.
        self._versions: dict[str, list[ServedResource]] = {}
        self._revision = -1

    def _versions_of(self, served: ServedResource) -> list[ServedResource]:
        if self._revision != self.catalog.revision:
            self._revision = self.catalog.revision
            self._versions.clear()
            for known in self.catalog:
                self._versions.setdefault(known.stored_as, []).append(known)
        return self._versions.get(served.stored_as, [])

    def served_as(self, attributes: Attributes, spec: JsonObject, rules: Iterable[JsonObject]) -> ServedResource | None:
        """Return the version of the resource that the rules match; ``None`` if they do not match the request."""
        rules = list(rules)
        served = attributes.request.served
        if any(_rule_matches(rule, attributes, served) for rule in rules):
            return served
        if spec.get("matchPolicy") == "Exact":
            return None
        if attributes.subresource not in ("", "status"):
            return None
        others = (other for other in self._versions_of(served) if other is not served)
        return next((other for other in others if any(_rule_matches(rule, attributes, other) for rule in rules)), None)

    def selects(self, attributes: Attributes, spec: JsonObject) -> bool:
        """Return whether the selectors of a configuration match the object and its namespace."""
        object_selector = spec.get("objectSelector") or {}
        if object_selector and not any(selects(object_selector, labels) for labels in attributes.labels):
            return False
        namespace_selector = spec.get("namespaceSelector") or {}
        if not namespace_selector:
            return True
        labels = self._namespace_labels(attributes)
        return labels is None or selects(namespace_selector, labels)

    def _namespace_labels(self, attributes: Attributes) -> dict[str, str] | None:
        """Return the labels of the namespace of a request; ``None`` if it has no namespace."""
        served, namespace = attributes.request.served, attributes.namespace
        if served.plural == "namespaces" and not served.group and attributes.obj is not None:
            return attributes.labels[0]
        if not namespace:
            return None
        record = self._objects.store.get("namespaces", "", namespace)
        if record is None:
            raise not_found("namespaces", "", namespace)
        return dict(record.labels or {})


def converter(source: ServedResource, target: ServedResource) -> Callable[[JsonObject], JsonObject]:
    """Return a function that converts objects from one version of a resource to another."""
    if source is target:
        return lambda obj: obj
    return lambda obj: target.strategy.from_stored(source.strategy.to_stored(obj), target.api_version)


def _rule_matches(rule: JsonObject, attributes: Attributes, served: ServedResource) -> bool:
    return (
        _has(rule.get("operations"), attributes.operation)
        and _has(rule.get("apiGroups"), served.group)
        and _has(rule.get("apiVersions"), served.version)
        and _has_scope(rule.get("scope") or "*", served)
        and any(_has_resource(name, served.plural, attributes.subresource) for name in rule.get("resources") or ())
        and (not rule.get("resourceNames") or attributes.name in rule["resourceNames"])
    )


def _has(known: list[str] | None, wanted: str) -> bool:
    return known is not None and ("*" in known or wanted in known)


def _has_scope(scope: str, served: ServedResource) -> bool:
    return scope == "*" or (scope == "Namespaced") == served.namespaced


def _has_resource(rule: str, resource: str, part: str) -> bool:
    wanted, _, wanted_part = rule.partition("/")
    return wanted in ("*", resource) and wanted_part in ("*", part)
