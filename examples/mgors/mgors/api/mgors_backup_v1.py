"""MgorsBackup, as mongo.example.com/v1: one backup of a replica set. Its data is deleted with the object."""

from datetime import datetime
from typing import Annotated, Literal

from steersman import Model, Resource, Status, custom_resource
from steersman.schema import Column, MinLength, Rule, constrained

from mgors.api.mgors_v1 import S3Target

State = Literal["waiting", "running", "ready", "error"]


@constrained(Rule("self == oldSelf", "a backup cannot be changed: create another one"))
class MgorsBackupSpec(Model):
    """What is backed up, and how."""

    cluster_name: Annotated[str, MinLength(1)]
    type: Literal["logical"] = "logical"
    #: Include users and roles of the database, with the hashes of their passwords.
    users_and_roles: bool = False


class MgorsBackupStatus(Status):
    """The progress of a backup, and what it contains."""

    state: State = "waiting"
    #: Folder in the operator's volume of backups, or in the bucket.
    destination: str = ""
    #: The bucket, if it is stored in one.
    s3: S3Target | None = None
    size_bytes: int = 0
    documents: int = 0
    #: Collections, time series and views.
    collections: int = 0
    #: Checksum of the manifest, which has those of all collections.
    sha256: str = ""
    #: Position of the backup in the oplog, and the earliest one that archived entries can bring it to.
    oplog_position: str = ""
    usable_from: str = ""
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
        """Whether it has ended, successfully or not."""
        return self.status.state in ("ready", "error")
