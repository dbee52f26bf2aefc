"""Mgors, as mongo.example.com/v1: the CRD and the RBAC permissions are derived from these classes."""

from datetime import datetime
from typing import Annotated, Literal

from steersman import Model, Resource, Status, custom_resource
from steersman.kinds.core_v1 import ResourceRequirements, Toleration
from steersman.objects import IntOrString, sparse
from steersman.schema import (
    Column,
    ListMap,
    Maximum,
    MaxLength,
    MaxProperties,
    Minimum,
    Opaque,
    Pattern,
    Rule,
    Scale,
    constrained,
)

Retain = Literal["Retain", "Delete"]
TlsMode = Literal["disabled", "allowTLS", "preferTLS", "requireTLS"]
Port = Annotated[int, Minimum(1), Maximum(65535)]


class Storage(Model):
    """The disk of each member."""

    #: Can be increased if the storage class allows it.
    size: IntOrString | None = None
    class_name: str | None = None
    #: Whether disks that are no longer needed are kept or deleted.
    retain: Retain = "Retain"


class Auth(Model):
    """The administrator, and the key that members share."""

    #: A Secret with ``username`` and ``password`` of the administrator; without it one is generated.
    secret_name: str | None = None
    #: Any text. With another one a new keyfile is generated, and pods are replaced twice, one by one.
    keyfile_revision: Annotated[str, MaxLength(63)] | None = None


class Tls(Model):
    """TLS of clients, members and the operator. Running members get to another mode step by step."""

    #: As mongod names it. With ``preferTLS`` clients may still connect without TLS.
    mode: TlsMode = "requireTLS"
    #: A Secret with ``tls.crt``, ``tls.key`` and ``ca.crt``; without it the operator has its own certificate authority.
    secret_name: str | None = None
    #: Whether members accept certificates of this Secret for any host name.
    allow_invalid_hostnames: bool = False
    #: Any text. With another one the operator replaces its certificate authority now, and not when it gets old.
    revision: Annotated[str, MaxLength(63)] | None = None


class SecretRef(Model):
    """A value in a Secret of the same namespace."""

    name: str
    key: str = "password"


class Role(Model):
    """A role of a user in a database."""

    name: str
    db: str


class User(Model):
    """A user of the database."""

    name: str
    db: str
    password_secret_ref: SecretRef
    roles: list[Role]


class PodSettings(Model):
    """Resources of the pods, and where they run. A change replaces the pods one by one."""

    #: Of the container of mongod. A memory limit also limits the cache of mongod.
    resources: ResourceRequirements | None = None
    #: Whether two members may run on one node: ``Required`` never allows it, ``Preferred`` avoids it.
    anti_affinity: Literal["Preferred", "Required", "None"] = "Preferred"
    #: Label of nodes that must differ, or should.
    anti_affinity_topology_key: str = "kubernetes.io/hostname"
    node_selector: dict[str, str] | None = None
    tolerations: list[Toleration] | None = None
    priority_class_name: str | None = None


#: Options of mongod that the operator sets itself, or that would disconnect members from each other.
_RESERVED = (
    "['replSet', 'bind_ip', 'bind_ip_all', 'port', 'dbpath', 'keyFile', 'clusterAuthMode', 'config', 'fork', 'auth', "
    "'noauth', 'transitionToAuth', 'shardsvr', 'configsvr', 'setParameter', 'wiredTigerCacheSizeGB', 'repair']"
)


class MongodSettings(Model):
    """Settings of the servers. A change replaces the pods one by one."""

    #: Size of the WiredTiger cache; by default half of the memory limit minus 1Gi, as mongod computes it.
    cache_size: IntOrString | None = None
    #: Options of the command line without ``--``, such as ``{"oplogSize": "2048"}``; an empty value is a flag.
    options: (
        Annotated[
            dict[str, str],
            MaxProperties(50),
            Rule(
                f"self.all(name, !(name in {_RESERVED}) && !name.startsWith('tls') && name.matches('^[a-zA-Z_]+$'))",
                "an option of the command line without --, and not one that the operator sets",
            ),
        ]
        | None
    ) = None
    #: Server parameters, such as ``{"minSnapshotHistoryWindowInSeconds": "3600"}``.
    parameters: dict[str, str] | None = None


class Monitoring(Model):
    """An exporter of metrics beside each member."""

    enabled: bool = False
    port: int = 9216


class S3Target(Model):
    """A bucket of storage that is compatible with S3."""

    #: ``https://s3.eu-central-1.amazonaws.com``, or that of another server.
    endpoint: str
    bucket: str
    prefix: str = ""
    region: str = "us-east-1"
    #: A Secret of the same namespace with ``AWS_ACCESS_KEY_ID`` and ``AWS_SECRET_ACCESS_KEY``.
    secret_name: str


@constrained(Opaque())
class BackupStorage(Model):
    """Where backups are stored: a folder in the operator's volume of backups, or a bucket."""

    folder: str = ""
    s3: S3Target | None = None


class PointInTime(Model):
    """Continuous archiving of the oplog, so that any moment after a backup can be restored."""

    #: Seconds between two slices; writes since the last one are lost with the replica set.
    every_seconds: Annotated[int, Minimum(1), Maximum(3600)] = 60


class BackupPlan(Model):
    """Scheduled backups."""

    #: In the syntax of CronJobs, in UTC unless it names a time zone.
    schedule: str | None = None
    storage: BackupStorage | None = None
    #: Number of successful scheduled backups to keep.
    keep: Annotated[int, Minimum(1)] = 7
    #: A backup that could not start within this time is skipped.
    starting_deadline_seconds: int = 120
    #: Archive the oplog beside the backups, into a MgorsArchive with the name of the replica set.
    point_in_time: PointInTime | None = None


class Unsafe(Model):
    """Settings that can lose data and must be allowed explicitly."""

    #: Allow an even number of voters.
    replica_set_size: bool = False
    #: Allow forced reconfigurations when the majority is lost. Each one needs its own consent, by annotation.
    force_reconfig_on_lost_quorum: bool = False


@constrained(
    # At most seven members vote.
    Rule(
        "self.members + self.arbiters >= 7 || (self.members + self.arbiters) % 2 == 1 || "
        "(has(self.unsafe) && self.unsafe.replicaSetSize)",
        "voting members must be odd, arbiters included (or unsafe.replicaSetSize)",
    ),
    # Running members identify the set by its name and each other by their ports.
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
    """The wanted replica set."""

    members: Annotated[int, Minimum(1), Maximum(50)]
    arbiters: Annotated[int, Minimum(0), Maximum(1)] = 0
    #: Defaults to the name of the object.
    replica_set_name: Annotated[str, Pattern("^[a-zA-Z0-9_-]{1,63}$")] | None = None
    image: str = "mongo:7.0"
    #: Keeps features of newer versions disabled, so that a downgrade to this version is possible; such as ``6.0``.
    feature_compatibility_version: Annotated[str, Pattern("^[0-9]+[.][0-9]+$")] | None = None
    port: Port = 27017
    #: Deletes all pods and keeps the disks.
    pause: bool = False
    storage: Storage | None = None
    auth: Auth | None = None
    users: Annotated[list[User], ListMap("name", "db")] | None = None
    tls: Tls | None = None
    pods: PodSettings | None = None
    mongod: MongodSettings | None = None
    monitoring: Monitoring | None = None
    backup: BackupPlan | None = None
    unsafe: Unsafe | None = None


class MemberStatus(Model):
    """One member, as last observed."""

    name: str
    host: str
    state: str


@constrained(Opaque())
class MgorsStatus(Status):
    """The observed state."""

    members: int = 0
    ready_members: int = 0
    selector: str = ""
    #: Pod of the primary; empty if there is none.
    primary: str = ""
    #: Pod of the last primary, also while there is none.
    last_primary: str = ""
    replica_set: list[MemberStatus] = sparse(list)
    #: Feature compatibility version of the last primary, such as ``6.0``.
    feature_compatibility_version: str = ""
    #: Time at which the last scheduled backup was due.
    last_schedule_time: datetime | None = None
    #: Name of the last successful backup.
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
        """Name of the replica set in MongoDB."""
        return self.spec.replica_set_name or self.name
