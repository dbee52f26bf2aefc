"""Manifests derived from an operator: least permissions, and a Deployment that meets the restricted standard."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from steersman import Client, Context, meta
from steersman.concurrency import background, wait_ready
from steersman.errors import ConfigError, DeclarationError, Forbidden
from steersman.kinds.core_v1 import Namespace, Secret
from steersman.kinds.events_v1 import Event
from steersman.kinds.rbac_v1 import ClusterRole
from steersman.manager.leader.election import ElectionOptions
from steersman.manager.manager import Manager, ManagerOptions
from steersman.manager.operator import Operator
from steersman.manager.rbac import grants_of, lease_rules
from steersman.objects.resource import Unstructured
from steersman.protocol.http import Request
from steersman.protocol.manifests import load, load_documents
from steersman.protocol.options import ListOptions
from steersman.scaffold.manifests.bundle import bundle_files
from steersman.scaffold.manifests.chart import chart_files
from steersman.scaffold.manifests.permissions import permission_objects, user_role_objects
from steersman.scaffold.manifests.plain import all_objects, definition_objects, manifest_files
from steersman.scaffold.manifests.releases import release_changes
from steersman.scaffold.manifests.shape import Shape, name_of, shape_from
from steersman.scaffold.project import provider_of
from steersman.testing.cluster import Cluster
from steersman.transport.in_memory import InMemoryTransport
from tests.support.example_operator import Fleet, FleetSpec, operator

SHAPE = Shape(image="registry.example.com/fleet:1.0", namespace="fleet-system")
PATH = re.compile(
    r"/(?:api/v1|apis/(?P<group>[^/]+)/[^/]+)/(?:namespaces/[^/]+/)?(?P<resource>[^/]+)(?:/(?P<rest>.+))?"
)


def used(request: Request) -> tuple[str, str, str] | None:
    """Return verb and resource of a request, by parsing paths independently of the server."""
    url = urlsplit(request.target)
    found = PATH.fullmatch(url.path)
    if found is None or found["resource"] == "customresourcedefinitions":
        return None
    _, _, part = (found["rest"] or "").partition("/")
    verb = {"POST": "create", "PATCH": "patch", "PUT": "update", "DELETE": "delete"}.get(request.method, "")
    if not verb:
        verb = "watch" if "watch" in parse_qs(url.query) else "get" if found["rest"] else "list"
    return found["group"] or "", f"{found['resource']}/{part}" if part else found["resource"], verb


async def test_the_role_is_exactly_what_the_operator_uses(cluster: Cluster) -> None:
    """Granted and used permissions are compared over a whole life: too few break the operator, too many are a risk."""
    user = Client(InMemoryTransport(cluster.server, clock=cluster.clock), clock=cluster.clock)
    election = ElectionOptions(name="fleet", namespace="default", identity="a")
    async with cluster.running(operator, options=ManagerOptions(election=election)):
        fleet = await user.create(Fleet(meta("a"), FleetSpec(size=2)))
        await cluster.settle()
        fleet = await user.patch(fleet, {"spec": {"size": 0}})
        await cluster.settle()
        await user.delete(fleet)
        await cluster.settle()
    seen = {found for request in cluster.faults.requests if (found := used(request))}
    granted = {(grant.group, grant.resource, verb) for grant in grants_of(operator) for verb in grant.verbs}
    granted |= {
        (rule["apiGroups"][0], rule["resources"][0], verb) for rule in lease_rules("fleet") for verb in rule["verbs"]
    }
    assert seen - granted == set()
    # Those that depend on the server and on events: a lost watch, an object that must be read again.
    left = granted - seen
    assert left <= {
        ("fleet.example.com", "fleets/finalizers", "update"),
        ("fleet.example.com", "fleets", "get"),
        ("", "configmaps", "get"),
        ("", "serviceaccounts", "get"),
        ("events.k8s.io", "events", "patch"),
    } | {(group, resource, verb) for group, resource, verb in granted if verb in ("list", "watch")}


async def test_the_operator_works_with_its_own_account_and_can_do_no_more(cluster: Cluster) -> None:
    """The server enforces the role: the operator leads, writes and records events, and reads no other secrets."""
    for obj in all_objects(operator, SHAPE):
        await cluster.client.apply(Unstructured(obj))
    account = cluster.client_of_account("fleet-system", "fleet")
    options = ManagerOptions(election=ElectionOptions(name="fleet", namespace="fleet-system", identity="a"))
    manager = Manager([operator], account.transport, options, clock=cluster.clock)
    async with background(manager.run(), name="manager") as task:
        await wait_ready(manager.wait_ready(), task)
        fleet = await cluster.client.create(Fleet(meta("a"), FleetSpec(size=2)))
        await cluster.eventually(lambda: cluster.list(Fleet)[0].status.size == 2)
        await cluster.eventually(lambda: len(cluster.list(Event)) == 1)
        await cluster.client.delete(fleet)
        await cluster.eventually(lambda: cluster.list(Fleet) == [])
    with pytest.raises(Forbidden):
        await account.list_page(Secret, ListOptions(), namespace="")
    with pytest.raises(Forbidden):
        await account.create(ClusterRole(meta("mine")))


async def test_a_server_accepts_all_manifests(cluster: Cluster) -> None:
    """Users apply them, so they are applied here first."""
    for obj in all_objects(operator, SHAPE):
        await cluster.client.apply(Unstructured(obj))
    [pods] = [obj for obj in all_objects(operator, SHAPE) if obj["kind"] == "Deployment"]
    assert pods["spec"]["template"]["spec"]["containers"][0]["image"] == SHAPE.image


def test_nothing_is_granted_by_wildcards_or_without_need() -> None:
    """An attacker who takes over the operator gets its account."""
    roles = [obj for obj in permission_objects(operator, SHAPE) if obj["kind"].endswith("Role")]
    words = [word for role in roles for rule in role["rules"] for words in rule.values() for word in words]
    assert not {"*", "escalate", "bind", "impersonate"} & set(words)
    secrets = [rule for role in roles for rule in role["rules"] if "secrets" in rule["resources"]]
    assert [rule["verbs"] for rule in secrets] == [["get"]]


def test_a_sharded_operator_may_write_its_own_leases_only() -> None:
    """Another operator's lease in the same namespace would let it stop that one."""
    sharded = Operator("fleet", shards=3)
    names = ["fleet-shards", "fleet-slot-0", "fleet-slot-1", "fleet-slot-2"]
    everything, own = lease_rules("fleet", shards=3)
    assert everything["verbs"] == ["list", "watch", "create"]
    assert (own["resourceNames"], own["verbs"]) == (names, ["get", "patch"])
    roles = [one for one in permission_objects(sharded, Shape(image="i", namespace="n")) if one["kind"] == "Role"]
    assert any(role["rules"] == [everything, own] for role in roles)


def test_more_replicas_than_shards_are_rejected() -> None:
    """They would wait forever, and look like capacity."""
    with pytest.raises(ConfigError, match="2 shards, and 3 replicas cannot all work"):
        all_objects(Operator("fleet", shards=2), Shape(image="i", namespace="n", replicas=3))


@pytest.mark.parametrize(
    ("shards", "replicas", "message"),
    [
        (0, 1, "--processes=4 needs an operator with shards: declare Operator('fleet', shards=N)"),
        (8, 3, "3 replicas of 4 processes cannot all work on them: set replicas to 2 or less"),
    ],
)
def test_processes_need_shards_and_roles_for_each(shards: int, replicas: int, message: str) -> None:
    """Without declared shards the role has no Leases for slots: every process would be forbidden to start."""
    shape = Shape(image="i", namespace="n", replicas=replicas, args=("--processes", "4"))
    with pytest.raises(ConfigError, match=re.escape(message)):
        all_objects(Operator("fleet", shards=shards), shape)


def test_a_drain_evicts_one_replica_of_a_sharded_operator_at_a_time() -> None:
    """Its shards move to the others; two evictions at once would leave more objects without a worker."""
    shape = Shape(image="i", namespace="n", replicas=4, args=("--processes=2",))
    objects = {one["kind"]: one for one in all_objects(Operator("fleet", shards=8), shape)}
    assert objects["PodDisruptionBudget"]["spec"]["maxUnavailable"] == 1
    assert objects["Deployment"]["spec"]["replicas"] == 4


def test_a_namespaced_operator_has_no_cluster_permissions() -> None:
    """Roles instead of ClusterRoles, in those namespaces only, and the operator watches only them."""
    shape = Shape(image="a", namespace="fleet-system", watch=("red", "blue"))
    objects = permission_objects(operator, shape)
    assert not [obj for obj in objects if obj["kind"].startswith("Cluster")]
    places = [obj["metadata"]["namespace"] for obj in objects if obj["kind"] == "Role"]
    assert places == ["red", "blue", "fleet-system"]
    [deployment] = [obj for obj in all_objects(operator, shape) if obj["kind"] == "Deployment"]
    arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    assert arguments[-2:] == ["--namespace=red", "--namespace=blue"]


def test_events_of_cluster_scoped_objects_are_allowed_in_the_default_namespace() -> None:
    """They are created there, whatever namespaces the operator watches."""
    wide = Operator("wide")

    @wide.reconciler(Namespace)
    async def reconcile(namespace: Namespace, ctx: Context[Namespace]) -> None:
        """Reconcile namespaces."""

    shape = Shape(image="a", namespace="wide-system", watch=("red",))
    roles = {
        obj["metadata"]["namespace"]: obj["rules"] for obj in permission_objects(wide, shape) if obj["kind"] == "Role"
    }
    assert roles["default"] == [{"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]}]
    narrow = permission_objects(operator, Shape(image="a", namespace="fleet-system", watch=("red",)))
    assert "default" not in [obj["metadata"].get("namespace") for obj in narrow]


def test_pods_meet_the_restricted_standard() -> None:
    """Each of these is a rule of the pod security standard, as its documentation lists them."""
    [deployment] = [obj for obj in all_objects(operator, SHAPE) if obj["kind"] == "Deployment"]
    pod = deployment["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert {next(key for key in volume if key != "name") for volume in pod["volumes"]} <= {"emptyDir", "projected"}
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)


def test_pods_mount_the_claims_that_the_project_names() -> None:
    """An operator that stores data needs a volume: its root file system is read-only."""
    shape = shape_from({"volumes": {"/backups": "my-backups", "/cache": "my-cache"}}, "fleet", version="1")
    [deployment] = [obj for obj in all_objects(operator, shape) if obj["kind"] == "Deployment"]
    pod = deployment["spec"]["template"]["spec"]
    claims = {one["name"]: one.get("persistentVolumeClaim", {}).get("claimName") for one in pod["volumes"]}
    mounts = {one["mountPath"]: claims[one["name"]] for one in pod["containers"][0]["volumeMounts"]}
    assert mounts == {"/tmp": None, "/backups": "my-backups", "/cache": "my-cache"}  # noqa: S108 - a path of the pod
    assert pod["securityContext"]["fsGroup"] == pod["securityContext"]["runAsGroup"]


def test_a_waiting_replica_is_ready() -> None:
    """If only the leader were ready, a rollout would wait for the new pod, and the new pod for the old one's lease."""
    [deployment] = [obj for obj in all_objects(operator, SHAPE) if obj["kind"] == "Deployment"]
    probe = deployment["spec"]["template"]["spec"]["containers"][0]["readinessProbe"]
    assert probe["httpGet"]["path"] == "/readyz?exclude=started"


def test_files_are_the_same_every_time_and_complete() -> None:
    """CI compares them byte by byte; one file contains all of them for kubectl."""
    files = manifest_files(operator, SHAPE)
    assert files == manifest_files(operator, SHAPE)
    resources = load(files["kustomization.yaml"])[0]["resources"]
    assert sorted(resources) == sorted(set(files) - {"kustomization.yaml", "install.yaml"})
    whole = load(files["install.yaml"])
    assert [obj for name in resources for obj in load(files[name])] == whole


def test_users_get_roles_for_the_kinds() -> None:
    """Namespace admins can use the kinds without writing a role."""
    viewer, editor = user_role_objects(operator)
    assert viewer["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-view"] == "true"
    assert "rbac.authorization.k8s.io/aggregate-to-view" not in editor["metadata"]["labels"]
    assert editor["rules"][0]["resources"] == ["fleets"]


def test_an_operator_whose_name_is_not_a_label_cannot_be_deployed() -> None:
    """The error comes before the server's, and names the value."""
    with pytest.raises(DeclarationError, match="'My Operator'"):
        name_of(Operator("My Operator"))


@pytest.mark.parametrize(
    "settings",
    [
        {"namespace": "A"},
        {"replicas": 0},
        {"replicas": "2"},
        {"watch": "default"},
        {"image": "a b"},
        {"volumes": "/backups"},
        {"volumes": {"backups": "my-backups"}},
        {"volumes": {"/backups": "My Backups"}},
    ],
)
def test_invalid_settings_are_rejected(settings: dict[str, Any]) -> None:
    """A typo in pyproject.toml must not become a manifest."""
    with pytest.raises(ConfigError):
        shape_from(settings, "fleet", version="1")


def test_verbs_are_listed_by_name() -> None:
    """A wildcard would violate least privilege."""
    with pytest.raises(DeclarationError, match="verbs without wildcards"):
        Operator("a").permit(Secret, "*")


def test_a_chart_has_values_for_what_differs_between_clusters() -> None:
    """No placeholder may remain, and every value in a template needs a default."""
    files = chart_files(operator, SHAPE, version="1.0.0")
    text = "".join(content for name, content in files.items() if name.startswith("templates/"))
    assert "@" not in text
    assert "the-namespace" not in text
    [values] = load_documents(files["values.yaml"])
    for path in set(re.findall(r"\.Values\.([A-Za-z.]+)", text)):
        place: Any = values
        for step in path.split("."):
            assert step in place, path
            place = place[step]
    assert "fleets.fleet.example.com.yaml" in "".join(name for name in files if name.startswith("crds/"))


def test_a_bundle_lists_what_it_owns_and_needs() -> None:
    """The Operator Lifecycle Manager installs from this file alone."""
    sample = {"apiVersion": "fleet.example.com/v1", "kind": "Fleet", "metadata": {"name": "a"}}
    files = bundle_files(operator, SHAPE, version="1.0.0", samples=[sample], provider="Ann")
    [version] = load(files["manifests/fleet.clusterserviceversion.yaml"])
    # operator-framework's own validation rejects a bundle without a provider, and warns about the other two.
    assert version["spec"]["provider"] == {"name": "Ann"}
    assert version["spec"]["minKubeVersion"] == "1.28.0"
    assert "bundle.channels.v1: candidate\n" in files["metadata/annotations.yaml"]
    assert version["metadata"]["name"] == "fleet.v1.0.0"
    assert '"kind": "Fleet"' in version["metadata"]["annotations"]["alm-examples"]
    [owned] = version["spec"]["customresourcedefinitions"]["owned"]
    assert (owned["name"], owned["version"]) == ("fleets.fleet.example.com", "v1")
    install = version["spec"]["install"]["spec"]
    assert install["deployments"][0]["spec"]["template"]["spec"]["serviceAccountName"] == "fleet"
    assert install["permissions"][0]["rules"] == lease_rules("fleet")
    assert "LABEL operators.operatorframework.io.bundle.package.v1=fleet\n" in files["bundle.Dockerfile"]


def test_the_provider_of_a_bundle_is_the_author_of_the_project(tmp_path: Path) -> None:
    """Without an author it is the domain, which every project has."""
    settings = tmp_path / "pyproject.toml"
    settings.write_text('[tool.steersman]\nname = "fleet"\ndomain = "example.com"\n')
    assert provider_of(tmp_path) == "example.com"
    settings.write_text('[project]\nauthors = [{email = "ann@example.com"}, {name = "Ann"}]\n')
    assert provider_of(tmp_path) == "Ann"


def test_a_release_that_removes_something_is_breaking() -> None:
    """A removed field, and a removed CRD."""
    today = definition_objects(operator)
    before = definition_objects(operator)
    schema = before[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"]["flag"] = {"type": "string"}
    [(name, changes)] = release_changes(before, today).items()
    assert name == "fleets.fleet.example.com"
    assert next(str(change) for change in changes if "flag" in change.path).startswith("breaking")
    assert "gone" in str(release_changes(before, [])["fleets.fleet.example.com"][0])
    assert release_changes(today, today) == {}


def by_name(objects: list[dict[str, Any]]) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Return objects by kind, namespace and name."""
    return {(obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"]): obj for obj in objects}


def written(files: dict[str, str], root: Path) -> None:
    """Write files into a folder."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def test_kustomize_builds_the_same_objects_from_the_base(tmp_path: Path) -> None:
    """Kustomize itself reads the base."""
    files = manifest_files(operator, SHAPE)
    written(files, tmp_path)
    kubectl = Path(sys.executable).with_name("kubectl")
    answer = subprocess.run([kubectl, "kustomize", str(tmp_path)], capture_output=True, text=True, check=True)  # noqa: S603 - the test's own tool
    assert by_name(load(answer.stdout)) == by_name(load(files["install.yaml"]))
