"""Python classes generate the corrected CRDs of five published operators, field by field."""

from datetime import datetime
from typing import Annotated, Any, Literal

import pytest
import yaml

from steersman.objects.model import Model
from steersman.objects.quantity import Quantity
from steersman.objects.registry import Registry
from steersman.objects.resource import Resource, Status
from steersman.schema import (
    Int64,
    ListMap,
    Maximum,
    MaxLength,
    Minimum,
    MinLength,
    Pattern,
    PreserveUnknown,
    Rule,
    Scale,
    constrained,
    custom_resource,
)
from steersman.schema.crd import crd_of
from tests.support.schema_recordings import golden_text

KINDS = Registry()


class ProjectSpec(Model):
    """The desired state of a project."""

    replicas: Annotated[int, Minimum(1)]


class ProjectStatus(Status):
    """The observed state of a project."""

    replicas: int = 0
    selector: str = ""


@custom_resource(
    "examples-gzh.com/v1alpha1",
    scale=Scale(spec=".spec.replicas", status=".status.replicas", selector=".status.selector"),
    into=KINDS,
)
class Project(Resource[ProjectSpec, ProjectStatus]):
    """A project."""


@constrained(
    Rule("isCIDR(self.cidr)", "cidr must be a valid CIDR"),
    Rule("isIP(self.gateway)", "gateway must be an IP"),
    Rule(
        "!isCIDR(self.cidr) || !isIP(self.gateway) || cidr(self.cidr).containsIP(self.gateway)",
        "gateway must lie inside cidr",
    ),
    Rule("self.cidr == oldSelf.cidr", "cidr is immutable"),
)
class NetworkSpec(Model):
    """A network and its gateway."""

    cidr: Annotated[str, MaxLength(43)]
    gateway: Annotated[str, MaxLength(39)]


@constrained(PreserveUnknown())
class FreeStatus(Model):
    """A status with any fields."""


@custom_resource("samplecrd.k8s.io/v1", api_approved="unapproved, experimental-only", into=KINDS)
class Network(Resource[NetworkSpec, FreeStatus]):
    """A network."""


class CustomPodSpec(Model):
    """The number of pods, and their template."""

    replicas: Annotated[int, Minimum(0), Maximum(100)]
    template: dict[str, Any] | None = None


@constrained(PreserveUnknown())
class CustomPodStatus(Model):
    """The actual number of pods."""

    replicas: int = 0
    pod_names: list[str] = []
    selector: str = ""


@custom_resource(
    "zhhnzw.mock.com/v1",
    scale=Scale(spec=".spec.replicas", status=".status.replicas", selector=".status.selector"),
    into=KINDS,
)
class CustomPod(Resource[CustomPodSpec, CustomPodStatus]):
    """A custom resource that keeps a number of pods running."""


class FooBarSpec(Model):
    """The action and its target."""

    target: Annotated[str, MinLength(1)]
    type: str | None = None


class FooBarStatus(Model):
    """The progress of the action."""

    status: (
        Literal["", "Applying", "ApplySucceed", "ApplyFailed", "Revoking", "RevokeSucceed", "RevokeFailed"] | None
    ) = None
    message: str | None = None
    update_time: datetime | None = None
    observed_generation: Int64 | None = None


@custom_resource("test.example.com/v1", into=KINDS)
class FooBar(Resource[FooBarSpec, FooBarStatus]):
    """An action."""


class Storage(Model):
    """The storage of a member."""

    size: Quantity | None = None
    class_name: str | None = None
    retain: Literal["Retain", "Delete"] = "Retain"


class Auth(Model):
    """The authentication of members."""

    secret_name: str | None = None


class SecretRef(Model):
    """A key of a Secret."""

    name: str
    key: str = "password"


class Role(Model):
    """A permission of a user in a database."""

    name: str
    db: str


class User(Model):
    """A user of the database."""

    name: str
    db: str
    password_secret_ref: SecretRef
    roles: list[Role]


class Monitoring(Model):
    """Whether and where metrics are served."""

    enabled: bool = False
    port: int = 9216


class Backup(Model):
    """The schedule of backups, and how many are kept."""

    schedule: str | None = None
    storage: dict[str, Any] | None = None
    keep: Annotated[int, Minimum(1)] = 7
    starting_deadline_seconds: int = 120


class Unsafe(Model):
    """Options that are allowed at one's own risk."""

    replica_set_size: bool = False
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
    """A replica set."""

    members: Annotated[int, Minimum(1), Maximum(50)]
    arbiters: Annotated[int, Minimum(0), Maximum(1)] = 0
    replica_set_name: Annotated[str | None, Pattern("^[a-zA-Z0-9_-]{1,63}$")] = None
    image: str = "mongo:7.0"
    port: Annotated[int, Minimum(1), Maximum(65535)] = 27017
    pause: bool = False
    storage: Storage | None = None
    auth: Auth | None = None
    users: Annotated[list[User] | None, ListMap("name", "db")] = None
    monitoring: Monitoring | None = None
    backup: Backup | None = None
    unsafe: Unsafe | None = None


@custom_resource(
    "mongo.example.com/v1",
    short_names=["mrs"],
    scale=Scale(spec=".spec.members", status=".status.members", selector=".status.selector"),
    into=KINDS,
)
class Mgors(Resource[MgorsSpec, FreeStatus]):
    """A Mongo replica set."""


SEEDS = {crd["metadata"]["name"]: crd for crd in yaml.safe_load_all(golden_text("seed-crds.yaml"))}


def bare(value: Any) -> Any:
    """Remove descriptions and the order of lists that are sets."""
    if isinstance(value, dict):
        return {
            key: sorted(item) if key == "required" else bare(item)
            for key, item in value.items()
            if key != "description" or not isinstance(item, str)
        }
    return [bare(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("kind", [Project, Network, CustomPod, FooBar, Mgors])
def test_a_class_generates_the_crd_that_a_real_server_accepted(kind: type[Resource[Any, Any]]) -> None:
    """From annotations to the CRD: names, subresources, types, constraints, rules, defaults."""
    crd = crd_of(kind)
    assert bare(crd) == bare(SEEDS[crd["metadata"]["name"]])
