"""MgorsArchive, as mongo.example.com/v1: the archived oplog of a replica set. Its data is deleted with the object."""

from datetime import datetime
from typing import Annotated, Literal

from steersman import Model, Resource, Status, custom_resource
from steersman.objects import sparse
from steersman.schema import Column, MinLength, Rule, constrained

from mgors.api.mgors_v1 import S3Target


@constrained(Rule("self == oldSelf", "an archive cannot be changed"))
class MgorsArchiveSpec(Model):
    """The replica set whose oplog is archived."""

    cluster_name: Annotated[str, MinLength(1)]


class Gap(Model):
    """Entries of the oplog that were not archived, between two positions."""

    after: str
    before: str
    reason: str


class MgorsArchiveStatus(Status):
    """What is archived. The names of the files in the storage are the truth; this is where archiving continues."""

    state: Literal["waiting", "archiving", "stopped"] = "waiting"
    #: Folder in the operator's volume of backups, or in the bucket.
    destination: str = ""
    #: The bucket, if it is stored in one.
    s3: S3Target | None = None
    #: Position in the oplog at which the slices without a gap begin, and at which the last one ends.
    since: str = ""
    until: str = ""
    #: Moments that can be restored: from the oldest backup without a gap after it, to the last entry.
    restorable_from: datetime | None = None
    restorable_to: datetime | None = None
    #: Slices that end before this position were deleted: no backup needs them.
    kept_from: str = ""
    #: Number of entries that were archived.
    entries: int = 0
    #: The last gaps, oldest first.
    gaps: list[Gap] = sparse(list)
    error: str = ""


@custom_resource(
    "mongo.example.com/v1",
    columns=[
        Column("Cluster", ".spec.clusterName"),
        Column("State", ".status.state"),
        Column("From", ".status.restorableFrom"),
        Column("To", ".status.restorableTo"),
    ],
)
class MgorsArchive(Resource[MgorsArchiveSpec, MgorsArchiveStatus]):
    """The archived oplog of a replica set."""
