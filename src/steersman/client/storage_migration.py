"""Bringing the stored objects of a kind to the version in which they are stored now, so that former ones can go.

An empty patch is enough: the server writes the object again if it is stored otherwise, and leaves it alone if it is
not. So this can be interrupted and begun again at any time, and costs little for objects that are done already.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Self

from steersman.client.client import Client
from steersman.client.interfaces import ALL_NAMESPACES
from steersman.errors import ApiError, Conflict, NotFound
from steersman.kinds.apiextensions_v1 import CustomResourceDefinition
from steersman.objects.identity import GroupVersionKind
from steersman.objects.resource import Unstructured

#: Objects that are rewritten at the same time.
_AT_ONCE: Final = 16


@dataclass(frozen=True, slots=True)
class Migration:
    """What is to be done about one definition."""

    definition: CustomResourceDefinition
    #: The kind in the version that is stored.
    kind: GroupVersionKind
    #: Versions in which objects may be stored still.
    former: tuple[str, ...]

    @classmethod
    def of(cls, definition: CustomResourceDefinition) -> Self:
        """Read a definition."""
        spec = definition.spec
        stored = next(version.name for version in spec.versions if version.storage)
        known = definition.status.stored_versions or []
        kind = GroupVersionKind(spec.group, stored, spec.names.kind)
        return cls(definition, kind, tuple(version for version in known if version != stored))


@dataclass(slots=True)
class Progress:
    """How far a migration has come."""

    #: Written again: they were stored in a former version.
    rewritten: int = 0
    #: Left alone: they are stored as they should be, or are gone.
    untouched: int = 0
    #: Objects that the server refuses to write again, with its reasons.
    refused: dict[str, str] = field(default_factory=dict)

    @property
    def seen(self) -> int:
        """How many objects were looked at."""
        return self.rewritten + self.untouched + len(self.refused)


async def rewrite(client: Client, kind: GroupVersionKind, told: Callable[[Progress], None]) -> Progress:
    """Rewrite every object of a kind, in all namespaces; tell of the progress now and then."""
    progress = Progress()
    waiting: list[Unstructured] = []
    async for obj in client.list(kind, namespace=ALL_NAMESPACES):
        waiting.append(obj)
        if len(waiting) == _AT_ONCE:
            await _rewrite_all(client, waiting, progress)
            waiting.clear()
            told(progress)
    await _rewrite_all(client, waiting, progress)
    told(progress)
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
    """Say in the definition's status that objects are stored in one version only.

    Raises ``Conflict`` if the definition says something else by now: then objects may be stored otherwise again.
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
    status: dict[str, Any] = {"storedVersions": [migration.kind.version]}
    await client.status.patch(now, {"metadata": {"resourceVersion": now.resource_version}, "status": status})
