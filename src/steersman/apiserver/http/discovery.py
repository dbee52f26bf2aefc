"""Discovery: what is served, in the old form (one document per group) and in the aggregated one.

Documents are made from the catalog when they are asked for, and kept until it changes.
"""

import base64
import hashlib

from steersman.apiserver.messages.negotiation import PROTOBUF, accept_clauses
from steersman.apiserver.resources.catalog import Catalog
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.json_types import JsonObject
from steersman.objects.codec import encode_json

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def wants_aggregated(accept: str) -> bool | None:
    """Return the first accepted form: aggregated or old; ``None`` if neither is accepted."""
    for clause in accept_clauses(accept):
        transform = clause.get("as")
        if clause.media == "application/json" and transform == "APIGroupDiscoveryList":
            if clause.get("g") == "apidiscovery.k8s.io" and clause.get("v") == "v2":
                return True
        elif not transform and clause.media in ("application/json", "application/yaml", "*/*", PROTOBUF):
            return False
    return None


class Discovery:
    """Writes and keeps the discovery documents of one catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._revision = -1
        self._kept: dict[str, tuple[bytes, str]] = {}

    def aggregated(self, *, core: bool) -> tuple[bytes, str]:
        """Return the aggregated document of ``/api`` or ``/apis``, and its ETag."""
        if self._revision != self._catalog.revision:
            self._kept.clear()
            self._revision = self._catalog.revision
        key = "core" if core else "groups"
        if key not in self._kept:
            body = encode_json(self._aggregated(core=core))
            self._kept[key] = body, f'"{hashlib.sha512(body).hexdigest().upper()}"'
        return self._kept[key]

    def _aggregated(self, *, core: bool) -> JsonObject:
        groups = [name for name in self._catalog.groups() if (name == "") is core]
        return {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": "apidiscovery.k8s.io/v2",
            "metadata": {},
            "items": [self._group_item(group) for group in groups],
        }

    def _group_item(self, group: str) -> JsonObject:
        return {
            "metadata": {"name": group} if group else {},
            "versions": [
                {
                    "version": version,
                    "resources": [_aggregated_resource(served) for served in self._catalog.resources(group, version)],
                    "freshness": "Current",
                }
                for version in self._catalog.versions(group)
            ],
        }

    def api_versions(self, address: str) -> JsonObject:
        """Return ``/api`` in the old form."""
        return {
            "kind": "APIVersions",
            "versions": self._catalog.versions(""),
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
        }

    def group_list(self) -> JsonObject:
        """Return ``/apis`` in the old form."""
        groups = [self._group(name) for name in self._catalog.groups() if name]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}

    def group(self, name: str) -> JsonObject:
        """Return ``/apis/<group>``."""
        return {"kind": "APIGroup", "apiVersion": "v1", **self._group(name)}

    def _group(self, name: str) -> JsonObject:
        versions = [
            {"groupVersion": f"{name}/{version}", "version": version} for version in self._catalog.versions(name)
        ]
        return {"name": name, "versions": versions, "preferredVersion": versions[0]}

    def resource_list(self, group: str, version: str) -> JsonObject:
        """Return ``/api/v1`` or ``/apis/<group>/<version>``."""
        resources = [entry for served in self._catalog.resources(group, version) for entry in _legacy_resources(served)]
        head: JsonObject = {"kind": "APIResourceList"}
        if group:
            head["apiVersion"] = "v1"
        head["groupVersion"] = f"{group}/{version}" if group else version
        head["resources"] = resources
        return head


#: The order in which custom resources name what they can do.
_CUSTOM_ORDER = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")


def _verbs(served: ServedResource) -> list[str]:
    if served.builtin:
        return sorted(served.verbs)
    return [verb for verb in _CUSTOM_ORDER if verb in served.verbs]


def _aggregated_resource(served: ServedResource) -> JsonObject:
    # Built-in resources leave their own group and version out; custom ones name them.
    own = ("", "") if served.builtin else (served.group, served.version)
    entry: JsonObject = {
        "resource": served.plural,
        "responseKind": {"group": own[0], "version": own[1], "kind": served.kind},
        "scope": "Namespaced" if served.namespaced else "Cluster",
        "singularResource": served.resource.singular,
        "verbs": _verbs(served),
    }
    if served.resource.short_names:
        entry["shortNames"] = list(served.resource.short_names)
    if served.resource.categories:
        entry["categories"] = list(served.resource.categories)
    if served.subresources:
        entry["subresources"] = [
            {
                "subresource": part.name,
                "responseKind": _response_kind(served, *part.kind),
                "verbs": sorted(part.verbs),
            }
            for _, part in sorted(served.subresources.items())
        ]
    return entry


def _response_kind(served: ServedResource, group: str, version: str, kind: str) -> JsonObject:
    if served.builtin and (group, version) == (served.group, served.version):
        return {"group": "", "version": "", "kind": kind}
    return {"group": group, "version": version, "kind": kind}


def storage_hash(served: ServedResource) -> str:
    """Return the short hash of the stored kind in old discovery documents."""
    text = f"{served.group}/{served.stored_version}/{served.kind}"
    return base64.b64encode(hashlib.sha256(text.encode()).digest()[:8]).decode()


def _legacy_resources(served: ServedResource) -> list[JsonObject]:
    entry: JsonObject = {
        "name": served.plural,
        "singularName": served.resource.singular,
        "namespaced": served.namespaced,
        "kind": served.kind,
        "verbs": _verbs(served),
    }
    if served.resource.short_names:
        entry["shortNames"] = list(served.resource.short_names)
    if served.resource.categories:
        entry["categories"] = list(served.resource.categories)
    if "watch" in served.verbs:
        entry["storageVersionHash"] = storage_hash(served)
    parts = sorted(served.subresources) if served.builtin else served.subresources
    return [entry, *(_legacy_part(served, name) for name in parts)]


def _legacy_part(served: ServedResource, name: str) -> JsonObject:
    part = served.subresources[name]
    entry: JsonObject = {"name": f"{served.plural}/{name}", "singularName": "", "namespaced": served.namespaced}
    group, version, kind = part.kind
    if (group, version) != (served.group, served.version):
        entry["group"] = group
        entry["version"] = version
    entry["kind"] = kind
    entry["verbs"] = sorted(part.verbs)
    return entry
