"""MgorsRestore, as mongo.example.com/v1: a backup is loaded into a replica set, once."""

from datetime import datetime
from typing import Annotated

from steersman import Model, Resource, Status, custom_resource
from steersman.schema import Column, MinLength, Rule, constrained

from mgors.api.mgors_backup_v1 import State


@constrained(Rule("self == oldSelf", "a restore cannot be changed: make another one"))
class MgorsRestoreSpec(Model):
    """What is loaded, and into what. Databases of the backup replace those of the replica set."""

    cluster_name: Annotated[str, MinLength(1)]
    backup_name: Annotated[str, MinLength(1)]


class MgorsRestoreStatus(Status):
    """How far it is."""

    state: State = "waiting"
    documents: int = 0
    start: datetime | None = None
    completed: datetime | None = None
    error: str = ""


@custom_resource(
    "mongo.example.com/v1",
    columns=[
        Column("Cluster", ".spec.clusterName"),
        Column("Backup", ".spec.backupName"),
        Column("State", ".status.state"),
        Column("Documents", ".status.documents"),
    ],
)
class MgorsRestore(Resource[MgorsRestoreSpec, MgorsRestoreStatus]):
    """A restore of a replica set."""

    @property
    def is_finished(self) -> bool:
        """Whether it is over, well or not."""
        return self.status.state in ("ready", "error")
