"""`ShardedController`: the part of a controller that knows which objects are worked on in this process."""

import logging
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from steersman.controller.reports.writes import Target
from steersman.controller.run.environment import ReconcileEnvironment
from steersman.controller.run.external_writes import ExternalWrites
from steersman.controller.shards import ShardAccess, ShardKeys
from steersman.informer.record import Record
from steersman.informer.store import Store
from steersman.objects.identity import ObjectKey

_log = logging.getLogger("steersman.controller")


class ShardedController:
    """Which objects of one controller are worked on here, and what their runs share."""

    def __init__(self, environment: ReconcileEnvironment, shards: ShardAccess, reconciled: Store, name: str) -> None:
        self._environment = environment
        self._access = shards
        #: The cache of the reconciled objects.
        self._reconciled = reconciled
        self._name = name
        self.keys = ShardKeys(shards.count, environment.options.clock)
        #: What the runs of each shard share.
        self._environments: dict[int, ReconcileEnvironment] = {}

    def environment(self, uid: str) -> ReconcileEnvironment:
        """Return what the runs of an object share: the writes for each shard have a fence of their own."""
        shard = self.keys.shard(uid)
        found = self._environments.get(shard)
        if found is None:
            base = self._environment
            client, fence = self._access.client(shard, base.options.client), self._access.fence(shard)
            options = replace(base.options, client=client, fence=fence)
            writes = ExternalWrites(options.clock, fence, options.carry_out)
            found = self._environments[shard] = replace(base, options=options, external_writes=writes)
        return found

    def is_foreign(self, key: ObjectKey) -> bool:
        """Return whether another process works on an object. A deleted one is forgotten here if it is known."""
        record = self._reconciled.get(key)
        if record is None:
            return self._environment.states.find(key) is None
        return not self.keys.is_mine(record)

    def mine(self, keys: Iterable[ObjectKey]) -> list[ObjectKey]:
        """Return the keys that are worked on here."""
        return [key for key in keys if not self.is_foreign(key)]

    def is_for_others(self, target: Target, record: Record, *, is_own: bool) -> bool:
        """Return whether a change triggers only other processes, so that its object need not be decoded.

        ``is_own`` is whether the changed object is one of those that are reconciled.
        """
        self.keys.saw(str(target.gvk), record.resource_version)
        return is_own and self.is_foreign(record.key)

    async def open(self, shard: int, versions: Mapping[str, str]) -> list[Record]:
        """Begin to work on a shard when the caches show what its former holder wrote; return its objects."""
        if missing := await self.keys.wait_seen(versions):
            extra = {"controller": self._name, "shard": shard, "missing": missing}
            _log.info("the caches do not show what the former holder of a shard wrote", extra=extra)
        self.keys.open(shard)
        return [record for record in self._reconciled.records() if self.keys.shard(record.uid) == shard]

    def __repr__(self) -> str:
        return f"<ShardedController {self._name} {self.keys!r}>"


def sharded(environment: ReconcileEnvironment, reconciled: Store, name: str) -> ShardedController | None:
    """Return the part of a controller that knows its shards; ``None`` if the operator has none."""
    shards = environment.options.shards
    return None if shards is None else ShardedController(environment, shards, reconciled, name)
