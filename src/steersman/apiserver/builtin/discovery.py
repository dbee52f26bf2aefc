"""Built-in kinds: which resources there are, from the discovery table, each with its strategy."""

import lzma
from functools import cache
from importlib.resources import files
from typing import Any, Protocol

import msgspec

from steersman.apiserver.resources.catalog import Catalog
from steersman.apiserver.resources.served import Served, Subresource
from steersman.apiserver.resources.strategy import Strategy
from steersman.objects.identity import ApiResource, GroupVersionKind

Document = dict[str, Any]


@cache
def load_discovery() -> list[Document]:
    """Give the table of built-in resources. Shared: do not change it."""
    packed = files("steersman.apiserver").joinpath("data/discovery.json.xz").read_bytes()
    return msgspec.json.decode(lzma.decompress(packed), type=list[Document])


@cache
def builtin_resources() -> tuple[tuple[ApiResource, frozenset[str], dict[str, Subresource]], ...]:
    """Give every built-in resource with its verbs and subresources, in the order of discovery."""
    made = []
    for group in load_discovery():
        for version in group["versions"]:
            for entry in version["resources"]:
                gvk = GroupVersionKind(group["group"], version["version"], entry["kind"])
                parts = {
                    part["name"]: Subresource(part["name"], GroupVersionKind(*part["kind"]), tuple(part["verbs"]))
                    for part in entry["subresources"]
                }
                resource = ApiResource(
                    gvk=gvk,
                    plural=entry["plural"],
                    singular=entry["singular"],
                    namespaced=entry["namespaced"],
                    short_names=tuple(entry["shortNames"]),
                    categories=tuple(entry["categories"]),
                    subresources=frozenset(parts),
                )
                made.append((resource, frozenset(entry["verbs"]), parts))
    return tuple(made)


#: Resources that are served by two groups from one store: where objects lie, and in which version.
SHARED = {
    ("events.k8s.io", "events"): ("events", "v1"),
    ("autoscaling", "horizontalpodautoscalers"): ("horizontalpodautoscalers.autoscaling", "v2"),
}


#: Resources that warn whoever asks for them.
_DEPRECATED = {
    ("", "endpoints"): "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    ("", "componentstatuses"): "v1 ComponentStatus is deprecated in v1.19+",
}


class StrategyTable(Protocol):
    """Gives each built-in kind its strategy."""

    def strategy_for(self, gvk: GroupVersionKind) -> Strategy:
        """Give the strategy of a kind."""


def add_builtin_kinds(catalog: Catalog, strategies: StrategyTable) -> None:
    """Serve all built-in kinds."""
    for resource, verbs, parts in builtin_resources():
        stored_as, stored_version = SHARED.get((resource.gvk.group, resource.plural), ("", ""))
        catalog.add(
            Served(
                resource=resource,
                strategy=strategies.strategy_for(resource.gvk),
                verbs=verbs,
                subresources=parts,
                stored_as=stored_as,
                stored_version=stored_version,
                deprecation=_DEPRECATED.get((resource.gvk.group, resource.plural), ""),
            )
        )
