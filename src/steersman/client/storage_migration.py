"""Storage migration: rewrite the objects of a kind in the current storage version, to remove former versions.

An empty patch is enough: the server writes an object again if it is stored in another version, and does nothing
otherwise. So a migration can be interrupted and restarted at any time, and costs little for objects that are done.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Self

from steersman.client.client import Client
from steersman.client.interfaces import ALL_NAMESPACES
from steersman.errors import ApiError, Conflict, NotFound
from steersman.json_types import JsonObject
from steersman.kinds.apiextensions_v1 import CustomResourceDefinition
from steersman.objects.identity import GroupVersionKind
from steersman.objects.resource import Unstructured

#: Objects that are rewritten at the same time.
_AT_ONCE: Final = 16


@dataclass(frozen=True, slots=True)
class Migration:
    """The migration of one CRD."""

    definition: CustomResourceDefinition
    #: The kind in the storage version.
    kind: GroupVersionKind
    #: Versions in which objects may still be stored.
    former: tuple[str, ...]

    @classmethod
    def of(cls, definition: CustomResourceDefinition) -> Self:
        """Return the migration that a CRD needs."""
        spec = definition.spec
        stored = next(version.name for version in spec.versions if version.storage)
        known = definition.status.stored_versions or []
        kind = GroupVersionKind(spec.group, stored, spec.names.kind)
        return cls(definition, kind, tuple(version for version in known if version != stored))


@dataclass(slots=True)
class Progress:
    """Progress of a migration."""

    #: Number of objects that were stored in a former version and were rewritten.
    rewritten: int = 0
    #: Number of objects that needed no write, or were deleted.
    untouched: int = 0
    #: Objects that the server rejects, with its reasons.
    refused: dict[str, str] = field(default_factory=dict)

    @property
    def seen(self) -> int:
        """Number of objects that were processed."""
        return self.rewritten + self.untouched + len(self.refused)


async def rewrite(client: Client, kind: GroupVersionKind, on_progress: Callable[[Progress], None]) -> Progress:
    """Rewrite every object of a kind, in all namespaces; call ``on_progress`` periodically."""
    progress = Progress()
    waiting: list[Unstructured] = []
    async for obj in client.list(kind, namespace=ALL_NAMESPACES):
        waiting.append(obj)
        if len(waiting) == _AT_ONCE:
            await _rewrite_all(client, waiting, progress)
            waiting.clear()
            on_progress(progress)
    await _rewrite_all(client, waiting, progress)
    on_progress(progress)
    return progress


async def _rewrite_all(client: Client, objects: list[Unstructured], progress: Progress) -> None:
    async with asyncio.TaskGroup() as tasks:
        for obj in objects:
            tasks.create_task(_rewrite_one(client, obj, progress), name=f"migrate/{obj.key}")


async def _rewrite_one(client: Client, obj: Unstructured, progress: Progress) -> None:
    try:
        after = await client.patch(obj, {})
    except NotFound:
        progress.untouched += 1
    except ApiError as error:
        progress.refused[str(obj.key)] = error.message
    else:
        if after.resource_version == obj.resource_version:
            progress.untouched += 1
        else:
            progress.rewritten += 1


async def trim(client: Client, migration: Migration) -> None:
    """Set in the CRD's status that objects are stored in one version only.

    Raises ``Conflict`` if the CRD has changed its storage version: then objects may be stored in another one again.
    """
    now = await client.get(CustomResourceDefinition, migration.definition.name)
    fresh = Migration.of(now)
    if now.uid != migration.definition.uid or fresh.kind != migration.kind:
        stored = fresh.kind.version
        raise Conflict(
            f"{now.name} was changed meanwhile and stores {stored}, not {migration.kind.version}: migrate again",
            code=409,
            reason="Conflict",
        )
    status: JsonObject = {"storedVersions": [migration.kind.version]}
    await client.status.patch(now, {"metadata": {"resourceVersion": now.resource_version}, "status": status})
