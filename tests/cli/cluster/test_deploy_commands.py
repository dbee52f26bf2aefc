"""`steer deploy` and `undeploy`: objects of other owners stay, and nothing is deleted too early."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from steersman.cli import main
from tests.cli.conftest import RunningServer
from tests.support.kubectl import KUBECTL

NAMESPACE = "fleet-system"
CLEANUP = '''

@reconcile.cleanup
async def clean_up(ship, ctx) -> None:
    """Have a finalizer."""
'''


def steer(*arguments: str, answer: str = "") -> Result:
    """Run the command."""
    return CliRunner().invoke(main, arguments, input=answer)


def kubectl(*arguments: str, text: str = "") -> str:
    """Read or change the cluster with kubectl."""
    answer = subprocess.run([KUBECTL, *arguments], input=text, capture_output=True, text=True, check=False, timeout=20)  # noqa: S603 - the test's own tool
    return answer.stdout + answer.stderr


def deploy() -> Result:
    """Deploy without waiting for pods: nothing runs them here."""
    answer = steer("deploy", "--yes", "--no-wait")
    assert answer.exit_code == 0, answer.output
    return answer


def labels(kind: str, name: str, *place: str) -> dict[str, str]:
    """Return the labels of an object."""
    found: dict[str, str] = json.loads(kubectl("get", kind, name, *place, "-o", "json"))["metadata"].get("labels", {})
    return found


def test_an_existing_namespace_is_neither_changed_nor_deleted(server: RunningServer, project: Path) -> None:
    """It was labelled `enforce: restricted`, and deleted with everything that other users had in it."""
    del server, project
    kubectl("create", "namespace", NAMESPACE)
    before = labels("namespace", NAMESPACE)
    deploy()
    assert labels("namespace", NAMESPACE) == before
    answer = steer("undeploy", "--yes")
    assert answer.exit_code == 0, answer.output
    assert f"Namespace {NAMESPACE} kept: 'steer deploy' did not create it" in answer.stdout
    assert labels("namespace", NAMESPACE) == before


def test_our_namespace_stays_while_it_contains_other_objects(server: RunningServer, project: Path) -> None:
    """A Secret of another user is not ours, although the namespace is."""
    del server, project
    deploy()
    assert labels("namespace", NAMESPACE)["pod-security.kubernetes.io/enforce"] == "restricted"
    kubectl("create", "secret", "generic", "data", "-n", NAMESPACE)
    answer = steer("undeploy", "--yes")
    assert f"Namespace {NAMESPACE} kept: there are 1 secrets in it" in answer.stdout
    assert "data" in kubectl("get", "secrets", "-n", NAMESPACE)
    kubectl("delete", "secret", "data", "-n", NAMESPACE)
    assert f"Namespace {NAMESPACE} deleted" in steer("undeploy", "--yes").stdout


def test_objects_that_existed_before_are_kept(server: RunningServer, project: Path) -> None:
    """A service account created by an administrator is used and outlives the operator, however often it is deployed."""
    del server, project
    kubectl("create", "namespace", NAMESPACE)
    kubectl("create", "serviceaccount", "fleet", "-n", NAMESPACE)
    for _ in range(2):
        assert "was there before: 'steer undeploy' will keep it" in deploy().stderr
    answer = steer("undeploy", "--yes")
    assert f"ServiceAccount {NAMESPACE}/fleet kept: it was there before the operator" in answer.stdout
    assert "fleet" in kubectl("get", "serviceaccounts", "-n", NAMESPACE)
    assert "fleet" not in kubectl("get", "clusterroles")


def test_deploy_waits_for_a_namespace_that_is_being_deleted(server: RunningServer, project: Path) -> None:
    """`deploy` right after `undeploy` met a terminating namespace, which accepts no new objects."""
    del server, project
    deploy()
    pin = json.dumps({"metadata": {"finalizers": ["example.com/pin"]}})
    kubectl("create", "configmap", "pinned", "-n", NAMESPACE)
    kubectl("patch", "configmap", "pinned", "-n", NAMESPACE, "--type", "merge", "-p", pin)
    kubectl("delete", "namespace", NAMESPACE, "--wait=false")
    arguments = [sys.executable, "-m", "steersman.cli", "deploy", "--yes", "--no-wait"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own interpreter
        assert process.stderr is not None
        assert any(f"waiting for namespace {NAMESPACE}" in line for line in process.stderr)
        unpin = json.dumps([{"op": "remove", "path": "/metadata/finalizers"}])
        kubectl("patch", "configmap", "pinned", "-n", NAMESPACE, "--type", "json", "-p", unpin)
        assert process.wait(30) == 0
    assert "fleet" in kubectl("get", "deployments", "-n", NAMESPACE)


def test_permissions_stay_until_the_pods_have_ended(server: RunningServer, project: Path) -> None:
    """A stopping operator still writes; without permissions it loses the status of its last work, and its lease.

    A process that was killed in the pod never released its lease: once the pod has ended, nothing can renew it.
    """
    del server, project
    deploy()
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "fleet", "namespace": NAMESPACE},
        "spec": {"holderIdentity": "last_1", "leaseDurationSeconds": 15, "renewTime": "2099-01-01T00:00:00.000000Z"},
    }
    assert "created" in kubectl("create", "-f", "-", text=json.dumps(lease))
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "last", "namespace": NAMESPACE, "labels": {"app.kubernetes.io/name": "fleet"}},
        "spec": {"containers": [{"name": "operator", "image": "a"}]},
    }
    assert "created" in kubectl("create", "-f", "-", text=json.dumps(pod))
    arguments = [sys.executable, "-m", "steersman.cli", "undeploy", "--yes"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own interpreter
        assert process.stdout is not None
        for line in process.stdout:
            if "waiting for 1 pod to end" in line:
                break
        assert "fleet" in kubectl("get", "clusterrolebindings")
        assert "fleet" in kubectl("get", "serviceaccounts", "-n", NAMESPACE)
        kubectl("delete", "pod", "last", "-n", NAMESPACE, "--grace-period=0", "--force")
        rest = process.stdout.read()
        assert process.wait(30) == 0
    assert f"Namespace {NAMESPACE} deleted" in rest
    assert "fleet" not in kubectl("get", "clusterrolebindings")


def test_objects_that_need_the_operator_for_their_deletion_are_listed_first(
    server: RunningServer, project: Path
) -> None:
    """Once deleted, they would wait for the operator's finalizer forever; the user must know before confirming."""
    del server
    [reconciler] = (project / "fleet/reconcilers").glob("*_reconciler.py")
    reconciler.write_text(reconciler.read_text() + CLEANUP)
    deploy()
    steer("samples", "apply", "--yes")
    held = json.dumps({"metadata": {"finalizers": ["sea.mock.com/ship"]}})
    refused = steer("undeploy", answer="n\n")
    assert "have the finalizer" not in refused.stderr
    kubectl("patch", "ship", "ship-sample", "--type", "merge", "-p", held)
    kubectl("delete", "ship", "ship-sample", "--wait=false")
    refused = steer("undeploy", answer="n\n")
    assert refused.exit_code == 1
    assert (
        "1 ships.sea.mock.com have the finalizer sea.mock.com/ship, and 1 of them are being deleted" in refused.stderr
    )
    assert refused.stderr.index("finalizer") < refused.stderr.index("Continue?")
    assert "fleet" in kubectl("get", "deployments", "-n", NAMESPACE)


def test_objects_that_the_operator_created_for_itself_are_deleted(server: RunningServer, project: Path) -> None:
    """A lease that is still renewed belongs to a process that runs elsewhere, so it stays."""
    del server, project
    deploy()
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "fleet", "namespace": NAMESPACE},
        "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": "2099-01-01T00:00:00.000000Z"},
    }
    kubectl("create", "-f", "-", text=json.dumps(lease))
    answer = steer("undeploy", "--yes")
    assert f"Lease {NAMESPACE}/fleet kept: a renewed it" in answer.stdout
    assert f"Namespace {NAMESPACE} kept: there are 1 leases.coordination.k8s.io in it" in answer.stdout
    kubectl("patch", "lease", "fleet", "-n", NAMESPACE, "--type", "merge", "-p", '{"spec": {"holderIdentity": ""}}')
    answer = steer("undeploy", "--yes")
    assert f"Lease {NAMESPACE}/fleet deleted" in answer.stdout
    assert f"Namespace {NAMESPACE} deleted" in answer.stdout


def test_the_leases_of_a_sharded_operator_are_deleted(server: RunningServer, project: Path) -> None:
    """On a real cluster they kept the namespace forever; the table stays as long as a replica elsewhere uses it."""
    del server, project
    deploy()

    def create_lease(name: str, **spec: object) -> None:
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"steersman.dev/shards-of": "fleet"}},
            "spec": spec,
        }
        kubectl("create", "-f", "-", text=json.dumps(lease))

    create_lease("fleet-shards")
    create_lease("fleet-slot-0", leaseDurationSeconds=15, renewTime="2026-01-01T00:00:00.000000Z")
    create_lease("fleet-slot-1", holderIdentity="b", leaseDurationSeconds=15, renewTime="2099-01-01T00:00:00.000000Z")
    answer = steer("undeploy", "--yes")
    assert f"Lease {NAMESPACE}/fleet-slot-0 deleted" in answer.stdout
    assert f"Lease {NAMESPACE}/fleet-slot-1 kept: b renewed it" in answer.stdout
    assert f"Lease {NAMESPACE}/fleet-shards kept: a replica still works with it" in answer.stdout
    kubectl("delete", "lease", "fleet-slot-1", "-n", NAMESPACE)
    answer = steer("undeploy", "--yes")
    assert f"Lease {NAMESPACE}/fleet-shards deleted" in answer.stdout
    assert f"Namespace {NAMESPACE} deleted" in answer.stdout


def test_a_deploy_that_does_not_become_ready_fails(server: RunningServer, project: Path) -> None:
    """CI saw exit code 0 although the pod never started."""
    del server, project
    answer = steer("deploy", "--yes", "--timeout", "1")
    assert answer.exit_code == 1
    assert "the rollout did not end in 1 s" in answer.stderr


@pytest.mark.parametrize("has_operator", [False, True])
def test_monitoring_is_left_out_if_its_kinds_are_not_served(
    server: RunningServer, project: Path, *, has_operator: bool
) -> None:
    """The same project is deployed to clusters with and without the Prometheus operator."""
    del server
    settings = project / "pyproject.toml"
    settings.write_text(settings.read_text().replace("[tool.steersman]\n", "[tool.steersman]\nmonitoring = true\n"))
    if has_operator:
        for plural, kind in (("servicemonitors", "ServiceMonitor"), ("prometheusrules", "PrometheusRule")):
            kubectl("create", "-f", "-", text=json.dumps(foreign_definition(plural, kind)))
            kubectl("wait", "--for=condition=Established", f"crd/{plural}.monitoring.coreos.com")
    answer = deploy()
    assert ("ServiceMonitor fleet-system/fleet left out" in answer.stdout) is not has_operator
    assert ("PrometheusRule fleet-system/fleet created" in answer.stdout) is has_operator
    assert "ConfigMap fleet-system/fleet-dashboard created" in answer.stdout
    assert f"Namespace {NAMESPACE} deleted" in steer("undeploy", "--yes").stdout


def foreign_definition(plural: str, kind: str) -> dict[str, object]:
    """Return a CRD like that of the Prometheus operator, without its schema."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.monitoring.coreos.com",
            "annotations": {"api-approved.kubernetes.io": "unapproved, a test"},
        },
        "spec": {
            "group": "monitoring.coreos.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [version],
        },
    }
