"""MgorsBackup, as mongo.example.com/v1: one backup of a replica set, with its data for as long as it is there."""

from datetime import datetime
from typing import Annotated, Literal

from steersman import Model, Resource, Status, custom_resource
from steersman.schema import Column, MinLength, Rule, constrained

State = Literal["waiting", "running", "ready", "error"]


@constrained(Rule("self == oldSelf", "a backup cannot be changed: make another one"))
class MgorsBackupSpec(Model):
    """Of what, and how."""

    cluster_name: Annotated[str, MinLength(1)]
    type: Literal["logical"] = "logical"


class MgorsBackupStatus(Status):
    """How far it is, and what it is good for."""

    state: State = "waiting"
    #: The folder, below the operator's volume of backups.
    destination: str = ""
    size_bytes: int = 0
    documents: int = 0
    #: Of the manifest, which has those of all files.
    sha256: str = ""
    start: datetime | None = None
    completed: datetime | None = None
    error: str = ""


@custom_resource(
    "mongo.example.com/v1",
    columns=[
        Column("Cluster", ".spec.clusterName"),
        Column("State", ".status.state"),
        Column("Documents", ".status.documents"),
        Column("Completed", ".status.completed"),
    ],
)
class MgorsBackup(Resource[MgorsBackupSpec, MgorsBackupStatus]):
    """A backup of a replica set."""

    @property
    def is_finished(self) -> bool:
        """Whether it is over, well or not."""
        return self.status.state in ("ready", "error")
