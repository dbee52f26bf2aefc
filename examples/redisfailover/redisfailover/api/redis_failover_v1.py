"""RedisFailover, as databases.spotahome.com/v1: a compatible subset of the kind of spotahome's operator.

The CRD and the RBAC permissions are derived from these classes. ``backup`` and the status are additions.
"""

from datetime import datetime
from typing import Annotated

from steersman import Model, Resource, Status, custom_resource
from steersman.kinds.core_v1 import EmptyDirVolumeSource, PersistentVolumeClaimSpec
from steersman.objects import IntOrString
from steersman.schema import Column, ListMap, Maximum, MaxItems, MaxLength, Minimum, MinItems, MinLength, Pattern, Rule

from redisfailover.api.pod_settings import PodSettings


class ClaimMeta(Model):
    """Name of a claim."""

    name: Annotated[str, MinLength(1)] = "redis-data"


class Claim(Model):
    """The template of a PersistentVolumeClaim for each server."""

    metadata: ClaimMeta = ClaimMeta()
    spec: PersistentVolumeClaimSpec


class StorageSettings(Model):
    """Where the data is stored; without a claim it is deleted with its pod."""

    keep_after_deletion: bool = False
    empty_dir: EmptyDirVolumeSource | None = None
    persistent_volume_claim: Claim | None = None


class RedisSettings(PodSettings):
    """The Redis servers."""

    replicas: Annotated[int, Minimum(1), Maximum(64)] = 3
    port: Annotated[int, Minimum(1), Maximum(65535)] = 6379
    #: Lines of redis.conf; changes are applied to the running servers.
    custom_config: list[str] = []
    storage: StorageSettings = StorageSettings()
    #: Seconds that a server has to save its data and exit.
    termination_grace_period: Annotated[int, Minimum(1)] | None = None


class SentinelSettings(PodSettings):
    """The sentinels, which monitor the servers and elect another master when the current one fails."""

    replicas: Annotated[
        int,
        Minimum(1),
        Maximum(63),
        Rule("self % 2 == 1", message="must be odd: an even number survives no more failures than one less"),
    ] = 3
    #: Options of ``SENTINEL SET``, such as ``down-after-milliseconds 5000``.
    custom_config: list[str] = []


class SecretKey(Model):
    """A value in a Secret of the same namespace."""

    name: Annotated[str, MinLength(1)]
    key: str = "password"


#: Keys, channels and commands. Not rules that change the password, or whether the user may log in.
_PERMISSION = "^([~%&+-][^\\s\"']*|allkeys|allchannels|allcommands|nocommands|resetkeys|resetchannels)$"


class AclUser(Model):
    """A user of the servers besides ``default``."""

    name: Annotated[
        str,
        Pattern("^[A-Za-z0-9_.-]{1,64}$"),
        MaxLength(64),
        Rule("self != 'default'", message="the user default has the password of secretPath"),
    ]
    password_secret_ref: SecretKey
    #: What it may do, as ``ACL SETUSER`` takes it: ``["~orders:*", "+@read", "-keys"]``.
    permissions: Annotated[list[Annotated[str, Pattern(_PERMISSION)]], MinItems(1)]


class AuthSettings(Model):
    """How clients authenticate."""

    #: The Secret of the same namespace whose key ``password`` all servers require. It can be changed, added and removed
    #: while they run. The key ``previous`` is accepted as well, for clients that still have the old password.
    secret_path: str = ""
    #: Further users. They can be added, changed and removed while the servers run; other users are left alone.
    users: Annotated[list[AclUser], ListMap("name"), MaxItems(200)] | None = None


class BootstrapNode(Model):
    """A Redis outside of the cluster that all servers follow while it is set; without it one of them becomes master."""

    host: Annotated[str, MinLength(1)]
    #: A string in spotahome's CRD, a number in its example.
    port: Annotated[
        IntOrString,
        Rule("int(self) >= 1 && int(self) <= 65535", message="must be a port: a number from 1 to 65535"),
    ] = 6379
    #: Whether the sentinels monitor the external master; otherwise they monitor none.
    allow_sentinels: bool = False


class BackupSettings(Model):
    """When the data of a replica is written to the operator's folder for backups."""

    #: In the syntax of CronJobs: ``0 3 * * *``.
    schedule: Annotated[str, MinLength(1)]
    keep: Annotated[int, Minimum(1)] = 7


class RedisFailoverSpec(Model):
    """The wanted state."""

    redis: RedisSettings = RedisSettings()
    sentinel: SentinelSettings = SentinelSettings()
    auth: AuthSettings = AuthSettings()
    bootstrap_node: BootstrapNode | None = None
    backup: BackupSettings | None = None


class BackupRecord(Model):
    """A completed backup."""

    file: str
    sha256: str
    size_bytes: int
    source: str
    scheduled: datetime


class RedisFailoverStatus(Status):
    """The observed state; decisions use only how long a condition has lasted, and which backup is due."""

    master: str = ""
    replicas: list[str] = []
    sentinels: list[str] = []
    #: Replication id of the master: offsets of servers are comparable only within one.
    replication_id: str = ""
    last_backup: BackupRecord | None = None


@custom_resource(
    "databases.spotahome.com/v1",
    short_names=["rf"],
    columns=[
        Column("Redis", ".spec.redis.replicas"),
        Column("Sentinels", ".spec.sentinel.replicas"),
        Column("Master", ".status.master"),
        Column("Ready", '.status.conditions[?(@.type=="Ready")].status', type="string"),
        Column("Age", ".metadata.creationTimestamp"),
    ],
    rules=[Rule("size(self.metadata.name) <= 48", message="a name has at most 48 characters")],
)
class RedisFailover(Resource[RedisFailoverSpec, RedisFailoverStatus]):
    """Redis servers with a master that is replaced when it fails."""
