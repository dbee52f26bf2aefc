"""MgorsRestore, as mongo.example.com/v1: a backup is loaded into a replica set, once."""

from datetime import datetime
from typing import Annotated, Literal

from steersman import Model, Resource, Status, custom_resource
from steersman.schema import Column, MinLength, Rule, constrained

from mgors.api.mgors_backup_v1 import State

#: The steps of a restore, in their order. Until ``Swapping`` begins, what is in the replica set is not touched.
Phase = Literal["Checking", "Loading", "SettingAside", "Swapping", "Cleaning", "Done"]


@constrained(Rule("self == oldSelf", "a restore cannot be changed: make another one"))
class MgorsRestoreSpec(Model):
    """What is loaded, and into what. Databases of the backup replace those of the replica set."""

    cluster_name: Annotated[str, MinLength(1)]
    backup_name: Annotated[str, MinLength(1)]
    #: Restore users and roles as well, if the backup has them. Users that exist and are not in it stay.
    users_and_roles: bool = False


class MgorsRestoreStatus(Status):
    """How far it is. A restore that is interrupted goes on from here."""

    state: State = "waiting"
    phase: Phase = "Checking"
    #: Collections of the backup that are done in this phase.
    position: int = 0
    collections: int = 0
    #: Documents that were loaded so far.
    documents: int = 0
    #: For people: ``loading shop.orders, 40000 of 100000 documents``.
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
        """Whether it is over, successful or not."""
        return self.status.state in ("ready", "error")
