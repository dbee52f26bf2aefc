"""Manifests of an operator with webhooks, derived from its declarations."""

from typing import Annotated, Any

import pytest

from steersman import Admission, Context, Deny, Model, Operator, Resource, Status, Unstructured, custom_resource, meta
from steersman.concurrency import background, wait_ready
from steersman.errors import Forbidden
from steersman.kinds.admissionregistration_v1 import MutatingWebhookConfiguration, ValidatingWebhookConfiguration
from steersman.kinds.apiextensions_v1 import CustomResourceDefinition
from steersman.kinds.core_v1 import ConfigMap, Pod, Secret
from steersman.manager.leader.election import ElectionOptions
from steersman.manager.manager import Manager, ManagerOptions
from steersman.protocol.manifests import load_documents
from steersman.scaffold.manifests.bundle import bundle_files
from steersman.scaffold.manifests.chart import chart_files
from steersman.scaffold.manifests.plain import all_objects, parts_of
from steersman.scaffold.manifests.shape import Shape
from steersman.schema import Rule
from steersman.schema.conversions import renames
from steersman.testing.cluster import Cluster
from steersman.webhook.registration.configurations import secret_name
from steersman.webhook.serving.address import ServiceAddress
from steersman.webhook.serving.tls_listener import service_listener

SHAPE = Shape(image="registry.example.com/ports:1.0", namespace="ports-system")


class PortSpec(Model):
    """The desired state."""

    berths: int = 1
    owner: Annotated[str, Rule("self == oldSelf || request.userInfo.username == oldSelf", "it is not yours")] = ""


class OldPortSpec(Model):
    """The desired state in the old version."""

    places: int = 1
    owner: str = ""


@custom_resource("ports.example.com/v1", storage=True)
class Port(Resource[PortSpec, Status]):
    """A port."""


@custom_resource("ports.example.com/v1beta1", kind="Port", storage=False)
class OldPort(Resource[OldPortSpec, Status]):
    """A port in the old version."""


renames(OldPort, Port, {".spec.places": ".spec.berths"})

operator = Operator("ports")
operator.declare(OldPort)


@operator.reconciler(Port)
async def reconcile(port: Port, ctx: Context[Port]) -> None:
    """Do nothing."""


@operator.default(Port)
def fill(port: Port, _: Admission[Port]) -> None:
    """Set a berth."""
    port.spec.berths = port.spec.berths or 1


@operator.validate(Pod, on=["CREATE"], failure="Ignore", timeout=3)
async def look(_: Pod, admission: Admission[Pod]) -> None:
    """Reject everything."""
    raise Deny(admission.user.name)


def _one(kind: str, shape: Shape = SHAPE) -> dict[str, Any]:
    [found] = [obj for obj in all_objects(operator, shape) if obj["kind"] == kind]
    return found


async def test_a_deployed_operator_may_manage_its_certificates(cluster: Cluster) -> None:
    """Its account may do exactly that: one Secret, and the CA bundles of its own configurations and CRDs."""
    for obj in all_objects(operator, SHAPE):
        await cluster.client.apply(Unstructured(obj))
    account = cluster.client_of_account("ports-system", "ports")
    front = service_listener(
        ServiceAddress("ports-system", "ports-webhooks"), secret_name("ports"), host="127.0.0.1", port=0
    )
    election = ElectionOptions(name="ports", namespace="ports-system", identity="a")
    options = ManagerOptions(election=election, webhooks=front)
    manager = Manager([operator], account.transport, options, clock=cluster.clock)
    async with background(manager.run(), name="manager") as task:
        await wait_ready(manager.wait_ready(), task)
        [secret] = cluster.list(Secret)
        bundle = (secret.data or {})["ca.crt"]
        configurations = [*cluster.list(MutatingWebhookConfiguration), *cluster.list(ValidatingWebhookConfiguration)]
        trusted = [webhook.client_config.ca_bundle for found in configurations for webhook in found.webhooks or ()]
        assert trusted == [bundle, bundle]
        [definition] = cluster.list(CustomResourceDefinition)
        conversion = definition.spec.conversion
        assert conversion is not None
        assert conversion.webhook is not None
        assert conversion.webhook.client_config is not None
        assert conversion.webhook.client_config.ca_bundle == bundle
    with pytest.raises(Forbidden):
        await account.get(Secret, "another", "ports-system")
    with pytest.raises(Forbidden):
        await account.delete(ValidatingWebhookConfiguration(meta("ports")))


def test_ports_names_and_addresses_agree() -> None:
    """A webhook that is called at a port without a listener rejects every write."""
    container = _one("Deployment")["spec"]["template"]["spec"]["containers"][0]
    [port] = [port for port in container["ports"] if port["name"] == "webhooks"]
    assert f"--webhook-port={port['containerPort']}" in container["args"]
    assert "--webhook-service=ports-system/ports-webhooks" in container["args"]
    [service] = [
        obj
        for obj in all_objects(operator, SHAPE)
        if obj["metadata"]["name"] == "ports-webhooks" and obj["kind"] == "Service"
    ]
    assert [entry["targetPort"] for entry in service["spec"]["ports"]] == ["webhooks"]
    assert {"ports": [{"port": "webhooks", "protocol": "TCP"}]} in _one("NetworkPolicy")["spec"]["ingress"]
    [fill_entry] = _one("MutatingWebhookConfiguration")["webhooks"]
    assert fill_entry["clientConfig"]["service"] == {
        "namespace": "ports-system",
        "name": "ports-webhooks",
        "path": "/ports/default/fill",
    }
    conversion = _one("CustomResourceDefinition")["spec"]["conversion"]
    assert conversion["webhook"]["clientConfig"]["service"]["path"] == "/convert"


def test_declarations_are_in_the_configuration() -> None:
    """Operations, failure policy, timeout; and the operator's own pods can always start."""
    [entry] = _one("ValidatingWebhookConfiguration")["webhooks"]
    assert (entry["name"], entry["failurePolicy"], entry["timeoutSeconds"]) == ("look.ports.core", "Ignore", 3)
    assert entry["rules"][0]["operations"] == ["CREATE"]
    [mine] = entry["namespaceSelector"]["matchExpressions"]
    assert (mine["operator"], mine["values"]) == ("NotIn", ["ports-system"])


def test_webhooks_are_created_last_and_deleted_first() -> None:
    """They must not be called before the operator runs, or afterwards."""
    files = list(parts_of(operator, SHAPE))
    assert files[-1] == "webhooks.yaml"
    assert files.index("admission-policies.yaml") < files.index("deployment.yaml")


def test_a_secret_of_the_user_is_only_read() -> None:
    """If certificates are managed elsewhere, the operator needs no write permission."""
    shape = Shape(image="a", namespace="ports-system", webhook_secret="mine")
    assert "--webhook-secret=mine" in _one("Deployment", shape)["spec"]["template"]["spec"]["containers"][0]["args"]
    roles = [obj for obj in all_objects(operator, shape) if obj["kind"] == "Role"]
    [rule] = [rule for role in roles for rule in role["rules"] if "secrets" in rule["resources"]]
    assert (rule["resourceNames"], rule["verbs"]) == (["mine"], ["get"])


def test_an_operator_without_webhooks_has_none_of_these() -> None:
    """Most operators need no open port."""
    plain = Operator("plain")

    @plain.reconciler(ConfigMap)
    async def reconcile(_: ConfigMap, __: Context[ConfigMap]) -> None:
        """Do nothing."""

    assert "webhook" not in repr(all_objects(plain, SHAPE))


def test_a_chart_never_fixes_the_namespace() -> None:
    """Helm knows the namespace only at installation; CRDs that name one are templates."""
    files = chart_files(operator, SHAPE, version="1.0")
    assert "namespace: {{ .Release.Namespace }}" in files["templates/webhooks.yaml"]
    assert "--webhook-service={{ .Release.Namespace }}/ports-webhooks" in files["templates/deployment.yaml"]
    assert "helm.sh/resource-policy: keep" in files["templates/definitions.yaml"]
    assert not [name for name in files if name.startswith("crds/")]
    assert not [name for name, text in files.items() if "the-namespace-of-the-release" in text]


def test_a_bundle_leaves_certificates_to_the_lifecycle_manager() -> None:
    """It mounts its own, and creates the configurations."""
    files = bundle_files(operator, SHAPE, version="1.0.0")
    [version] = load_documents(files["manifests/ports.clusterserviceversion.yaml"].encode())
    told = {entry["type"]: entry for entry in version["spec"]["webhookdefinitions"]}
    assert set(told) == {"MutatingAdmissionWebhook", "ValidatingAdmissionWebhook", "ConversionWebhook"}
    assert told["ConversionWebhook"]["conversionCRDs"] == ["ports.ports.example.com"]
    assert {entry["deploymentName"] for entry in told.values()} == {"ports"}
    [deployment] = version["spec"]["install"]["spec"]["deployments"]
    arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    assert "--webhook-certs=/tmp/k8s-webhook-server/serving-certs" in arguments
