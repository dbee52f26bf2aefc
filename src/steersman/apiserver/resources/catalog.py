"""`Catalog`: which resources are served, by group and version.

Built-in kinds are there from the start; custom ones come and go with their definitions. Discovery and OpenAPI are
written from it, and written again when its revision changes.
"""

import re
from collections.abc import Iterator

from steersman.apiserver.resources.served_resource import ServedResource

_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_STABILITY = {"": 2, "beta": 1, "alpha": 0}


def version_rank(version: str) -> tuple[int, int, int, int]:
    """Order versions as Kubernetes does, the best first when sorted in reverse: v2, v1, v1beta2, v1alpha1, others."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return (0, 0, 0, 0)
    return (1, _STABILITY[match[2] or ""], int(match[1]), int(match[3] or 0))


class Catalog:
    """Everything that is served."""

    def __init__(self) -> None:
        #: group → version → plural → resource. Groups are in the order of discovery.
        self._groups: dict[str, dict[str, dict[str, ServedResource]]] = {}
        #: Changes with every change of the catalog.
        self.revision = 0

    def add(self, served: ServedResource) -> None:
        """Add a resource, or replace it."""
        versions = self._groups.setdefault(served.group, {})
        versions.setdefault(served.version, {})[served.plural] = served
        self.revision += 1

    def remove(self, group: str, plural: str, keep: frozenset[str] = frozenset()) -> None:
        """Remove all versions of a resource but those to keep; empty groups are removed."""
        versions = self._groups.get(group, {})
        for version in [name for name in versions if name not in keep]:
            versions[version].pop(plural, None)
            if not versions[version]:
                del versions[version]
        if group in self._groups and not versions:
            del self._groups[group]
        self.revision += 1

    def find(self, group: str, version: str, plural: str) -> ServedResource | None:
        """Return a resource; ``None`` if it is not served."""
        versions = self._groups.get(group)
        if versions is None:
            return None
        resources = versions.get(version)
        return None if resources is None else resources.get(plural)

    def has_group(self, group: str) -> bool:
        """Return whether a group has resources."""
        return group in self._groups

    def has_version(self, group: str, version: str) -> bool:
        """Return whether a version of a group has resources."""
        return version in self._groups.get(group, {})

    def groups(self) -> list[str]:
        """Return all groups: built-in ones in their order, then custom ones by name."""
        builtin = [name for name in self._groups if self._is_builtin(name)]
        return builtin + sorted(name for name in self._groups if not self._is_builtin(name))

    def versions(self, group: str) -> list[str]:
        """Return the versions of a group, the preferred one first."""
        return sorted(self._groups.get(group, {}), key=version_rank, reverse=True)

    def resources(self, group: str, version: str) -> list[ServedResource]:
        """Return the resources of a group's version, by name."""
        return [served for _, served in sorted(self._groups.get(group, {}).get(version, {}).items())]

    def versions_of(self, group: str, plural: str) -> list[ServedResource]:
        """Return all served versions of a resource."""
        return [found for version in self.versions(group) if (found := self.find(group, version, plural)) is not None]

    def find_kind(self, group: str, version: str, kind: str) -> ServedResource | None:
        """Return the resource of a kind."""
        resources = self._groups.get(group, {}).get(version, {})
        return next((served for served in resources.values() if served.kind == kind), None)

    def __iter__(self) -> Iterator[ServedResource]:
        for group in self.groups():
            for version in self.versions(group):
                yield from self.resources(group, version)

    def _is_builtin(self, group: str) -> bool:
        return any(served.builtin for resources in self._groups[group].values() for served in resources.values())
