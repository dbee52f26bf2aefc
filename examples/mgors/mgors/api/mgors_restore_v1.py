"""MgorsRestore, as mongo.example.com/v1: loads a backup into a replica set, once."""

from datetime import datetime
from typing import Annotated, Literal

from steersman import Model, Resource, Status, custom_resource
from steersman.schema import Column, MinLength, Rule, constrained

from mgors.api.mgors_backup_v1 import State

#: Steps of a restore, in order. Existing data is not touched before ``Swapping``.
Phase = Literal["Checking", "Loading", "SettingAside", "Swapping", "Cleaning", "Done"]


@constrained(Rule("self == oldSelf", "a restore cannot be changed: create another one"))
class MgorsRestoreSpec(Model):
    """The backup and the replica set. Databases of the backup replace those of the replica set."""

    cluster_name: Annotated[str, MinLength(1)]
    backup_name: Annotated[str, MinLength(1)]
    #: Restore users and roles as well, if the backup has them. Existing users that it does not contain stay.
    users_and_roles: bool = False


class MgorsRestoreStatus(Status):
    """The progress of a restore. An interrupted restore continues from here."""

    state: State = "waiting"
    phase: Phase = "Checking"
    #: Collections of the backup that are done in this phase.
    position: int = 0
    collections: int = 0
    #: Number of documents loaded so far.
    documents: int = 0
    #: Text for users: ``loading shop.orders, 40000 of 100000 documents``.
    progress: str = ""
    start: datetime | None = None
    completed: datetime | None = None
    error: str = ""


@custom_resource(
    "mongo.example.com/v1",
    columns=[
        Column("Cluster", ".spec.clusterName"),
        Column("Backup", ".spec.backupName"),
        Column("State", ".status.state"),
        Column("Phase", ".status.phase"),
        Column("Documents", ".status.documents"),
    ],
)
class MgorsRestore(Resource[MgorsRestoreSpec, MgorsRestoreStatus]):
    """A restore of a replica set."""

    @property
    def is_finished(self) -> bool:
        """Whether it has ended, successfully or not."""
        return self.status.state in ("ready", "error")
