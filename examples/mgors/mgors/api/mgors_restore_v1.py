"""MgorsRestore, as mongo.example.com/v1: loads a backup into a replica set, once."""

from datetime import datetime
from typing import Annotated, Literal

from steersman import Model, Resource, Status, custom_resource
from steersman.schema import Column, MinLength, Pattern, Rule, constrained

from mgors.api.mgors_backup_v1 import State
from mgors.oplog import Position

#: Steps of a restore, in order. Existing data is not touched before ``Swapping``.
Phase = Literal["Checking", "Loading", "Replaying", "SettingAside", "Swapping", "Cleaning", "Done"]


@constrained(
    Rule("self == oldSelf", "a restore cannot be changed: create another one"),
    Rule(
        "has(self.backupName) || has(self.toTime) || has(self.oplogLimit)", "backupName, toTime or oplogLimit is needed"
    ),
    Rule("!has(self.toTime) || !has(self.oplogLimit)", "toTime and oplogLimit exclude each other"),
)
class MgorsRestoreSpec(Model):
    """The backup and the replica set. Databases of the backup replace those of the replica set."""

    cluster_name: Annotated[str, MinLength(1)]
    #: May be left out with ``toTime`` or ``oplogLimit``: the newest backup before that is used.
    backup_name: Annotated[str, MinLength(1)] | None = None
    #: Replay the archived oplog after the backup: all writes before this second, by the clock of the primary.
    to_time: datetime | None = None
    #: The same, with a position: all entries of the oplog before it, as ``seconds:counter``.
    oplog_limit: Annotated[str, Pattern("^[0-9]+(:[0-9]+)?$")] | None = None
    #: Restore users and roles as well, if the backup has them. Existing users that it does not contain stay.
    users_and_roles: bool = False


class MgorsRestoreStatus(Status):
    """The progress of a restore. An interrupted restore continues from here."""

    state: State = "waiting"
    #: The backup that is restored.
    backup: str = ""
    phase: Phase = "Checking"
    #: Collections of the backup that are done in this phase.
    position: int = 0
    collections: int = 0
    #: Number of documents loaded so far.
    documents: int = 0
    #: Checksum of the manifest of the data after the replay.
    replayed_sha256: str = ""
    #: Text for users: ``loading shop.orders, 40000 of 100000 documents``.
    progress: str = ""
    start: datetime | None = None
    completed: datetime | None = None
    error: str = ""


@custom_resource(
    "mongo.example.com/v1",
    columns=[
        Column("Cluster", ".spec.clusterName"),
        Column("Backup", ".status.backup"),
        Column("State", ".status.state"),
        Column("Phase", ".status.phase"),
        Column("Documents", ".status.documents"),
    ],
)
class MgorsRestore(Resource[MgorsRestoreSpec, MgorsRestoreStatus]):
    """A restore of a replica set."""

    @property
    def backup_name(self) -> str:
        """Name of the backup; empty while it is not chosen."""
        return self.status.backup or self.spec.backup_name or ""

    @property
    def limit(self) -> Position | None:
        """Position up to which the archived oplog is replayed; ``None`` for the moment of the backup."""
        if self.spec.oplog_limit is not None:
            return Position.parse(self.spec.oplog_limit)
        return Position.at(self.spec.to_time) if self.spec.to_time is not None else None

    @property
    def is_finished(self) -> bool:
        """Whether it has ended, successfully or not."""
        return self.status.state in ("ready", "error")
