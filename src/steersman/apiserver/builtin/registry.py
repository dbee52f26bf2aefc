"""All built-in kinds, collected from the families; `add_builtin_kinds` makes a server serve them."""

from collections.abc import Mapping
from typing import Final

from steersman.apiserver.builtin.admission_registration import family as admission_registration
from steersman.apiserver.builtin.certificates import family as certificates
from steersman.apiserver.builtin.cluster import family as cluster
from steersman.apiserver.builtin.config import family as config
from steersman.apiserver.builtin.coordination import family as coordination
from steersman.apiserver.builtin.devices import family as devices
from steersman.apiserver.builtin.discovery import builtin_resources
from steersman.apiserver.builtin.kind import BuiltinKind, ServedKind, ServerContext, StrategyFactory
from steersman.apiserver.builtin.networking import family as networking
from steersman.apiserver.builtin.pods import family as pods
from steersman.apiserver.builtin.rbac import family as rbac
from steersman.apiserver.builtin.reviews import family as reviews
from steersman.apiserver.builtin.scaling import family as scaling
from steersman.apiserver.builtin.storage import family as storage
from steersman.apiserver.builtin.strategy import BuiltinStrategy
from steersman.apiserver.builtin.workloads import family as workloads
from steersman.apiserver.resources.catalog import Catalog
from steersman.apiserver.resources.served_resource import ServedResource

#: A group and a kind.
GroupKind = tuple[str, str]
KINDS: Final[tuple[BuiltinKind, ...]] = (
    *pods.KINDS,
    *workloads.KINDS,
    *scaling.KINDS,
    *networking.KINDS,
    *storage.KINDS,
    *config.KINDS,
    *cluster.KINDS,
    *coordination.KINDS,
    *certificates.KINDS,
    *devices.KINDS,
    *rbac.KINDS,
    *reviews.KINDS,
    *admission_registration.KINDS,
)
_BY_NAME: Final[Mapping[GroupKind, BuiltinKind]] = {(kind.group, kind.kind): kind for kind in KINDS}


def builtin_kind(group: str, kind: str) -> BuiltinKind:
    """Return what is registered about a built-in kind; raises KeyError for a kind that is not built in."""
    return _BY_NAME[group, kind]


def add_builtin_kinds(
    catalog: Catalog, server: ServerContext, custom: Mapping[GroupKind, StrategyFactory] | None = None
) -> None:
    """Serve every built-in kind in every version that discovery lists.

    ``custom`` are the strategies of kinds whose behaviour belongs to another room: CustomResourceDefinitions.
    """
    for resource, verbs, subresources in builtin_resources():
        kind = builtin_kind(resource.gvk.group, resource.gvk.kind)
        create: StrategyFactory = (custom or {}).get((kind.group, kind.kind)) or kind.strategy or BuiltinStrategy
        served = ServedKind(
            gvk=resource.gvk, kind=kind, namespaced=resource.namespaced, has_status="status" in subresources
        )
        catalog.add(
            ServedResource(
                resource=resource,
                strategy=create(served, server),
                verbs=verbs,
                subresources=subresources,
                stored_as=kind.stored_as,
                stored_version=kind.stored_version,
                deprecation=kind.deprecation,
            )
        )
