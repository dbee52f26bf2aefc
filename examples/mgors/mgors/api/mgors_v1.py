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

    #: May grow where the class allows it.
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
    """What can cost data and has to be allowed."""

    #: Allow an even number of voters.
    replica_set_size: bool = False
    #: Allow forced reconfigurations when the majority is lost. Each one needs a consent of its own, by annotation.
    force_reconfig_on_lost_quorum: bool = False


@constrained(
    # Seven vote at most, whatever their number is.
    Rule(
        "self.members + self.arbiters >= 7 || (self.members + self.arbiters) % 2 == 1 || "
        "(has(self.unsafe) && self.unsafe.replicaSetSize)",
        "voting members must be odd, arbiters included (or unsafe.replicaSetSize)",
    ),
    # The members of a set that runs know it by its name and each other by their ports.
    Rule(
        "has(self.replicaSetName) == has(oldSelf.replicaSetName) && "
        "(!has(self.replicaSetName) || self.replicaSetName == oldSelf.replicaSetName)",
        "replicaSetName is immutable: it can neither be changed nor set or removed later",
    ),
    Rule("self.port == oldSelf.port", "port is immutable: members know each other by it"),
    Rule(
        "(has(self.storage) && has(self.storage.className) ? self.storage.className : '') == "
        "(has(oldSelf.storage) && has(oldSelf.storage.className) ? oldSelf.storage.className : '')",
        "storage.className is immutable: disks cannot move to another class",
    ),
)
class MgorsSpec(Model):
    """The replica set that a user asks for."""

    members: Annotated[int, Minimum(1), Maximum(50)]
    arbiters: Annotated[int, Minimum(0), Maximum(1)] = 0
    #: The name of the object unless another is given.
    replica_set_name: Annotated[str, Pattern("^[a-zA-Z0-9_-]{1,63}$")] | None = None
    image: str = "mongo:7.0"
    #: Features of newer versions stay off while this is set, so that there is a way back to this version; as ``6.0``.
    feature_compatibility_version: Annotated[str, Pattern("^[0-9]+[.][0-9]+$")] | None = None
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
    # Pods carry the name, the suffix -arbiter and a revision in labels of at most 63 characters; so does their Service.
    rules=[
        Rule(
            "self.metadata.name.size() <= 44 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
            "metadata.name must be a DNS label of at most 44 characters that begins with a letter",
        )
    ],
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
