"""`steer doctor`: each problem comes with advice; nothing is written."""

import json
import re
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from steersman import Context, Operator, meta
from steersman.cli import main
from steersman.cli.cluster.diagnosis import Level, cache_finding, cache_findings, definition_state
from steersman.cli.cluster.webhook_diagnosis import webhook_findings
from steersman.cli.why.operators import operator_at_socket
from steersman.clock import RealClock
from steersman.history.state import CacheState
from steersman.kinds.admissionregistration_v1 import (
    ServiceReference,
    ValidatingWebhook,
    ValidatingWebhookConfiguration,
    WebhookClientConfig,
)
from steersman.kinds.core_v1 import ConfigMap, Service, ServicePort, ServiceSpec
from steersman.manager.manager import ManagerOptions
from steersman.serving.certificates import CertificateAuthority
from steersman.serving.server import Listen
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from tests.cli.conftest import RunningServer
from tests.support.kubectl import KUBECTL


def steer(*arguments: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(main, arguments)


def kubectl(*arguments: str, text: str = "") -> None:
    """Change the cluster with kubectl."""
    subprocess.run([KUBECTL, *arguments], input=text, text=True, check=True, capture_output=True)  # noqa: S603 - the test's own tool


def test_missing_parts_are_listed_with_the_next_step(server: RunningServer, project: Path) -> None:
    """Following the advice leads from an empty cluster to a working one."""
    del project
    first = steer("doctor")
    assert first.exit_code == 1
    assert f"context steersman at {server.url}" in first.stdout
    missing = " bad  definition ships.sea.mock.com is not in the cluster: Ship (v1) is not served\n"
    assert f"{missing}      → run 'steer install'" in first.stdout
    assert first.stderr == "steer: 1 check failed\n"
    steer("install", "--yes")
    second = steer("doctor")
    assert second.exit_code == 0, second.output
    assert "  ok  definition ships.sea.mock.com is as declared" in second.stdout
    assert "  ok  you may do everything that the operator does" in second.stdout


@pytest.mark.parametrize(
    ("cache", "level", "what", "advice"),
    [
        (
            CacheState(kind="Pod", api_version="v1", objects=2, bytes=2048, age=0.5, is_synced=True),
            Level.GOOD,
            "2 ob",
            "",
        ),
        (
            CacheState(kind="Secret", api_version="v1", objects=33_493, bytes=2 << 30, age=1.0, is_synced=True),
            Level.NOTE,
            "cache of Secret: 33493 objects, 2048.0 MiB, ",
            "limit what is watched by namespaces=, selector= or metadata_only=",
        ),
        (
            CacheState(
                kind="Secret",
                api_version="v1",
                bytes=1 << 30,
                is_synced=True,
                is_metadata_only=True,
                selector="a=b",
                namespaces=("red", "blue"),
            ),
            Level.NOTE,
            "cache of Secret (metadata only, a=b, in red, blue)",
            "limit what is watched by namespaces= or selector=",
        ),
        (
            CacheState(kind="Pod", api_version="v1", reason="forbidden"),
            Level.BAD,
            "not synced: forbidden",
            "see the log",
        ),
    ],
)
def test_a_cache_is_shown_with_what_to_do_about_it(cache: CacheState, level: Level, what: str, advice: str) -> None:
    """The cache of other programs' objects is what makes an operator run out of memory."""
    finding = cache_finding(cache)
    assert finding.level is level
    assert what in finding.what
    assert finding.advice.startswith(advice)


async def test_the_caches_of_a_running_operator_are_asked_for(tmp_path: Path) -> None:
    """Only the operator itself knows how large they are; one that does not answer is named."""
    async with Cluster.start() as cluster:
        operator = Operator("asked")

        @operator.reconciler(ConfigMap)
        async def reconcile(_: ConfigMap, __: Context[ConfigMap]) -> None: ...

        socket = tmp_path / "a.sock"
        await cluster.client.create(ConfigMap(meta("a"), data={"a": "b"}))
        async with cluster.running(operator, options=ManagerOptions(history=(Listen(path=socket),))):
            asked = [operator_at_socket(socket), operator_at_socket(tmp_path / "none.sock")]
            found = [finding async for finding in cache_findings(asked, "asked")]
            others = [finding async for finding in cache_findings(asked[:1], "other")]
    assert [one.level for one in found] == [Level.GOOD, Level.NOTE]
    assert re.match(r"cache of ConfigMap: 1 object, .* old", found[0].what), found[0].what
    assert "the caches of process none are unknown" in found[1].what
    assert others == []


def test_permissions_of_the_deployed_operator_are_checked(server: RunningServer, project: Path) -> None:
    """A deleted role stops the operator, and its own log may not even say so."""
    del server, project
    steer("deploy", "--yes", "--no-wait")
    account = "system:serviceaccount:fleet-system:fleet"
    assert f"  ok  {account} may do everything that the operator does" in steer("doctor", "--deployed").stdout
    kubectl("delete", "clusterrolebinding", "fleet")
    kubectl("delete", "rolebinding", "fleet-leader-election", "-n", "fleet-system")
    answer = steer("doctor", "--deployed").stdout
    assert f" bad  {account} may not create/patch events.events.k8s.io, get/list/watch ships.sea.mock.com" in answer
    assert f" bad  {account} may not create/get/list/watch/patch its lease fleet-system/fleet" in answer


def test_a_webhook_without_its_service_is_reported(server: RunningServer, project: Path) -> None:
    """One of the worst outages: every write of a kind fails, and no message says why."""
    del server, project
    webhook = {
        "name": "gone.example.com",
        "clientConfig": {"service": {"name": "gone", "namespace": "default"}},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "rules": [{"apiGroups": ["x.io"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["xs"]}],
    }
    configuration = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "gone"},
        "webhooks": [webhook],
    }
    kubectl("create", "-f", "-", text=json.dumps(configuration))
    answer = steer("doctor")
    assert answer.exit_code == 1
    assert " bad  webhook gone.example.com calls service default/gone, which is not there" in answer.stdout
    assert "→ bring its operator back, or delete ValidatingWebhookConfiguration gone" in answer.stdout


def test_without_a_cluster_the_other_checks_still_run(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first problem must not hide the others."""
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "nothing"))
    (project / "manifests").mkdir()
    answer = steer("doctor")
    assert answer.exit_code == 1
    assert "  ok  operator fleet: 1 reconciler, 1 CRD\n" in answer.stdout
    assert "note  manifests is out of date" in answer.stdout
    assert " bad  no cluster: " in answer.stdout


def test_outside_of_a_project_the_other_checks_still_run(
    server: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command also helps users who have not created a project yet."""
    del server
    monkeypatch.chdir(tmp_path)
    answer = steer("doctor")
    assert answer.exit_code == 0, answer.output
    assert "steer init NAME" in answer.stdout


FOREIGN = '''
"""An operator that needs kinds of other programs."""

from steersman import Context, Operator
from steersman.controller.triggers import Watch
from steersman.kinds.core_v1 import ConfigMap
from steersman.objects.identity import ApiResource, GroupVersionKind
from steersman.objects.registry import declare
from steersman.objects.resource import KubeObject


@declare(ApiResource(gvk=GroupVersionKind("cert.example.com", "v1", "Certificate"), plural="certificates"))
class Certificate(KubeObject):
    pass


@declare(ApiResource(gvk=GroupVersionKind("dns.example.com", "v1", "Zone"), plural="zones"))
class Zone(KubeObject):
    pass


operator = Operator("fleet")


@operator.reconciler(ConfigMap, owns=[Certificate], watches=[Watch(Zone, to=lambda _: [], optional=True)])
async def reconcile(config_map: ConfigMap, ctx: Context[ConfigMap]) -> None:
    """Do nothing."""
'''


def test_an_operator_that_cannot_be_imported_is_an_error(server: RunningServer, project: Path) -> None:
    """It was a note with the advice to create a project, and exit code 0."""
    del server
    (project / "fleet/main.py").write_text("import nothing_like_this\n")
    answer = steer("doctor")
    assert answer.exit_code == 1
    assert " bad  the operator cannot be loaded" in answer.stdout
    assert "No module named 'nothing_like_this'" in answer.stdout


def test_foreign_kinds_that_are_not_served_are_listed(server: RunningServer, project: Path) -> None:
    """The operator would wait for them forever; 'steer install' does not create them."""
    del server
    (project / "fleet/main.py").write_text(FOREIGN)
    answer = steer("doctor")
    assert answer.exit_code == 1, answer.output
    missing = " bad  the cluster does not serve Certificate (cert.example.com/v1), which the operator follows"
    assert f"{missing}\n      → install the definition of certificates.cert.example.com" in answer.stdout
    assert "note  the cluster does not serve Zone (dns.example.com/v1), which the operator follows" in answer.stdout
    assert "ConfigMap" not in answer.stdout


def definition(**status: Any) -> dict[str, Any]:
    """Return a CRD as a server returns it."""
    good = [{"type": "NamesAccepted", "status": "True"}, {"type": "Established", "status": "True"}]
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "metadata": {"name": "a.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "A"}, "versions": [version]},
        "status": {"conditions": good, "storedVersions": ["v1"], **status},
    }


def states() -> Iterator[tuple[dict[str, Any], Level, str]]:
    """Yield CRDs, and the expected result for each."""
    yield definition(), Level.GOOD, "as declared"
    refused = [{"type": "NamesAccepted", "status": "False", "message": "plural is taken"}]
    yield definition(conditions=refused), Level.BAD, "plural is taken"
    yield definition(storedVersions=["v1alpha1", "v1"]), Level.BAD, "stored as v1alpha1"
    more = definition()
    more["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["b"] = {
        "type": "string"
    }
    yield more, Level.BAD, "in a breaking way"
    less = definition()
    less["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] = {}
    yield less, Level.NOTE, "differs"


def conversions() -> Iterator[tuple[dict[str, Any], dict[str, Any], Level, str]]:
    """Yield CRDs of two versions, actual and declared, and the expected result for their conversion."""
    service = {"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"namespace": "a", "name": "b"}}}}
    url = {"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://c"}}}

    def with_conversion(conversion: dict[str, Any] | None) -> dict[str, Any]:
        made = definition()
        old = {**made["spec"]["versions"][0], "name": "v1alpha1", "storage": False}
        made["spec"]["versions"].append(old)
        made["spec"] |= {"conversion": conversion} if conversion else {}
        return made

    yield with_conversion({"strategy": "None"}), with_conversion(service), Level.BAD, "lose fields silently"
    yield with_conversion(service), with_conversion(service), Level.GOOD, "as declared"
    yield with_conversion(service), with_conversion(None), Level.NOTE, "by service a/b, though"
    yield with_conversion(url), with_conversion(service), Level.NOTE, "by https://c, not by service a/b"


@pytest.mark.parametrize(("found", "wanted", "level", "what"), list(conversions()))
def test_the_conversion_of_a_crd_is_compared(
    found: dict[str, Any], wanted: dict[str, Any], level: Level, what: str
) -> None:
    """Without conversion objects lose fields, and no other check shows it."""
    first = next(definition_state(found, wanted))
    assert first.level is level
    assert what in first.what


@pytest.mark.parametrize(("found", "level", "what"), list(states()))
def test_a_crd_is_checked_against_its_status_and_its_declaration(
    found: dict[str, Any], level: Level, what: str
) -> None:
    """Each of these stops an operator now or later."""
    first = next(definition_state(found, definition()))
    assert first.level is level
    assert what in first.what


async def test_a_webhook_without_a_valid_ca_bundle_is_reported(cluster: Cluster) -> None:
    """An expired or unpublished certificate rejects every write of a kind."""
    past = FakeClock(datetime(2001, 1, 1, tzinfo=UTC))
    bundles = {
        "missing": None,
        "over": CertificateAuthority.create("old", clock=past).certificate,
        "garbage": b"garbage",
        "good": CertificateAuthority.create("new", clock=RealClock()).certificate,
    }
    await cluster.client.create(Service(meta("hooks"), spec=ServiceSpec(ports=[ServicePort(port=443)])))
    for name, bundle in bundles.items():
        config = WebhookClientConfig(service=ServiceReference(name="hooks", namespace="default"), ca_bundle=bundle)
        webhook = ValidatingWebhook(
            name=f"{name}.example.com",
            client_config=config,
            admission_review_versions=["v1"],
            side_effects="None",
            failure_policy="Ignore" if name == "garbage" else "Fail",
        )
        await cluster.client.create(ValidatingWebhookConfiguration(meta(name), webhooks=[webhook]))
    found = {finding.what: finding.level async for finding in webhook_findings(cluster.client)}
    assert found == {
        "webhook garbage.example.com has a caBundle that cannot be read": Level.NOTE,
        "webhook missing.example.com has no caBundle: no certificate of its service is trusted": Level.BAD,
        "webhook over.example.com trusts only certificates that are over": Level.BAD,
    }
