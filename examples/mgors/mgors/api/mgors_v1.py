"""Mgors, as mongo.example.com/v1: its definition, its schema and its permissions come from these classes."""

from datetime import datetime
from typing import Annotated, Literal

from steersman import Model, Resource, Status, custom_resource
from steersman.objects import IntOrString, sparse
from steersman.schema import Column, ListMap, Maximum, Minimum, Opaque, Pattern, Rule, Scale, constrained

Retain = Literal["Retain", "Delete"]
Port = Annotated[int, Minimum(1), Maximum(65535)]


class Storage(Model):
    """The disk of each member."""

    size: IntOrString | None = None
    class_name: str | None = None
    #: What becomes of disks that are not needed any more.
    retain: Retain = "Retain"


class Auth(Model):
    """Who may do everything."""

    #: A Secret with ``username`` and ``password`` of the administrator; one is made where none is named.
    secret_name: str | None = None


class SecretRef(Model):
    """A value in a Secret of the same namespace."""

    name: str
    key: str = "password"


class Role(Model):
    """What a user may do, in which database."""

    name: str
    db: str


class User(Model):
    """A user of the database."""

    name: str
    db: str
    password_secret_ref: SecretRef
    roles: list[Role]


class Monitoring(Model):
    """An exporter of metrics beside each member."""

    enabled: bool = False
    port: int = 9216


@constrained(Opaque())
class BackupStorage(Model):
    """Where backups are: a folder of the operator's volume of backups."""

    folder: str = ""


class BackupPlan(Model):
    """Backups that are made by themselves."""

    #: As CronJobs write it, in UTC unless it names a zone.
    schedule: str | None = None
    storage: BackupStorage | None = None
    #: How many of the scheduled backups that succeeded are kept.
    keep: Annotated[int, Minimum(1)] = 7
    #: A backup that could not begin for so long is left out.
    starting_deadline_seconds: int = 120


class Unsafe(Model):
    """What can cost data, and is only done for those who say so."""

    #: Allow an even number of voters.
    replica_set_size: bool = False
    #: Go on with the newest member that is left when the majority does not come back.
    force_reconfig_on_lost_quorum: bool = False


@constrained(
    Rule(
        "self.members % 2 == 1 || (has(self.arbiters) && self.arbiters == 1) || "
        "(has(self.unsafe) && self.unsafe.replicaSetSize)",
        "voting members must be odd (or unsafe.replicaSetSize)",
    ),
    Rule(
        "!has(oldSelf.replicaSetName) || (has(self.replicaSetName) && self.replicaSetName == oldSelf.replicaSetName)",
        "replicaSetName is immutable",
    ),
)
class MgorsSpec(Model):
    """The replica set that a user asks for."""

    members: Annotated[int, Minimum(1), Maximum(50)]
    arbiters: Annotated[int, Minimum(0), Maximum(1)] = 0
    #: The name of the object unless another is given.
    replica_set_name: Annotated[str, Pattern("^[a-zA-Z0-9_-]{1,63}$")] | None = None
    image: str = "mongo:7.0"
    port: Port = 27017
    #: No pods; the disks stay.
    pause: bool = False
    storage: Storage | None = None
    auth: Auth | None = None
    users: Annotated[list[User], ListMap("name", "db")] | None = None
    monitoring: Monitoring | None = None
    backup: BackupPlan | None = None
    unsafe: Unsafe | None = None


class MemberStatus(Model):
    """One member, as it was last seen."""

    name: str
    host: str
    state: str


@constrained(Opaque())
class MgorsStatus(Status):
    """What the operator saw; conditions come with it."""

    members: int = 0
    ready_members: int = 0
    selector: str = ""
    #: The pod that takes writes; empty when none does.
    primary: str = ""
    #: The last one that did, while there is none.
    last_primary: str = ""
    replica_set: list[MemberStatus] = sparse(list)
    #: The time that the last scheduled backup was due at.
    last_schedule_time: datetime | None = None
    #: The last backup that succeeded.
    last_backup: str = ""


@custom_resource(
    "mongo.example.com/v1",
    plural="mgorses",
    short_names=["mrs"],
    scale=Scale(".spec.members", ".status.members", ".status.selector"),
    columns=[
        Column("Members", ".spec.members", type="integer"),
        Column("Primary", ".status.primary", type="string"),
        Column("Ready", '.status.conditions[?(@.type=="Ready")].status', type="string"),
        Column("LastBackup", ".status.lastBackup", type="string"),
    ],
)
class Mgors(Resource[MgorsSpec, MgorsStatus]):
    """A MongoDB replica set."""

    @property
    def set_name(self) -> str:
        """What the members call themselves."""
        return self.spec.replica_set_name or self.name
