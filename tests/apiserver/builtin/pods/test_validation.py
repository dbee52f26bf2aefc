from typing import Any

import pytest

from steersman.apiserver.builtin.pods.defaults import default_pod
from steersman.apiserver.builtin.pods.update_validation import pod_errors
from steersman.apiserver.builtin.pods.warnings import pod_warnings

Document = dict[str, Any]


def pod(**spec: Any) -> Document:
    """Return a small pod with defaults."""
    made = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "nginx"}], **spec}}
    default_pod(made)
    return made


def errors_of(obj: Document, old: Document | None = None, part: str = "") -> list[str]:
    """Return the errors of a pod as text."""
    return [str(error) for error in pod_errors(obj, old, part)]


def test_a_usual_pod_is_valid() -> None:
    """No rule may reject what authors commonly write."""
    container = {
        "name": "app",
        "image": "registry.example/app:1",
        "ports": [{"name": "http", "containerPort": 8080}],
        "env": [{"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['app']"}}}],
        "resources": {"requests": {"cpu": "100m"}, "limits": {"cpu": "1", "example.com/gpu": "2"}},
        "volumeMounts": [{"name": "v", "mountPath": "/v", "subPath": "a/b"}],
        "readinessProbe": {"httpGet": {"port": "http"}},
        "lifecycle": {"preStop": {"sleep": {"seconds": 5}}},
    }
    setup = {"name": "setup", "image": "busybox", "restartPolicy": "Always", "startupProbe": {"tcpSocket": {"port": 1}}}
    assert not errors_of(pod(containers=[container], initContainers=[setup], volumes=[{"name": "v", "emptyDir": {}}]))


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (
            {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"foo": "1"}}}]},
            'resources.requests[foo]: Invalid value: "foo": must be a standard resource for containers',
        ),
        (
            {"dnsPolicy": "None"},
            "spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None",
        ),
        (
            {"initContainers": [{"name": "i", "image": "i", "lifecycle": {}}]},
            "lifecycle: Forbidden: may not be set for init containers without restartPolicy=Always",
        ),
        (
            {"os": {"name": "linux"}, "securityContext": {"windowsOptions": {}}},
            "spec.securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod",
        ),
        (
            {"nodeName": "n", "schedulingGates": [{"name": "a.dev/wait"}]},
            "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
        ),
    ],
)
def test_a_pod_that_no_node_could_run_is_rejected(spec: Document, why: str) -> None:
    """A real server rejects these, too, though no recording shows them."""
    assert any(complaint.endswith(why) for complaint in errors_of(pod(**spec)))


def test_an_invalid_volume_cannot_be_mounted() -> None:
    """The mount is an error, too, so that both places are found."""
    container = {"name": "c", "image": "i", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}
    complaints = errors_of(pod(containers=[container], volumes=[{"name": "v", "secret": {}}]))
    assert complaints == [
        "spec.volumes[0].secret.secretName: Required value",
        'spec.containers[0].volumeMounts[0].name: Not found: "v"',
    ]


def test_only_mutable_fields_may_change() -> None:
    """An image may be replaced in place; a command needs a new pod."""
    old, new_image, new_command = pod(), pod(), pod()
    new_image["spec"]["containers"][0]["image"] = "nginx:2"
    new_command["spec"]["containers"][0]["command"] = ["sh"]
    assert not errors_of(new_image, old)
    (complaint,) = errors_of(new_command, old)
    assert complaint.startswith("spec: Forbidden: pod updates may not change fields other than")
    assert '+   "Command": [' in complaint


def test_the_node_selector_of_a_gated_pod_may_change() -> None:
    """Queues hold pods with scheduling gates and choose the nodes before they remove the gates."""
    old, new = pod(schedulingGates=[{"name": "a.dev/wait"}]), pod(nodeSelector={"zone": "a"})
    assert not errors_of(new, old)
    assert errors_of(pod(nodeSelector={"zone": "a"}), pod())


def test_a_finished_container_stays_finished() -> None:
    """A node that reports a restart of a pod that never restarts is wrong."""
    ended, running = (
        {**pod(restartPolicy="Never"), "status": {"containerStatuses": [{"name": "c", "state": state}]}}
        for state in ({"terminated": {"exitCode": 0}}, {"running": {}})
    )
    (complaint,) = errors_of(running, ended, "status")
    assert complaint.endswith("may not be transitioned to non-terminated state")
    assert not errors_of(ended, running, "status")


def test_resizing_keeps_the_quality_of_service() -> None:
    """A node reserves resources by class; a resize that changed it could not be honoured."""
    old, new = pod(), pod()
    new["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    assert errors_of(new, old, "resize") == [
        'spec: Invalid value: "BestEffort": Pod QOS Class may not change as a result of resizing'
    ]


def test_warnings_name_the_place_in_a_template() -> None:
    """The same pod in a Deployment is found by the path of its template."""
    spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    made = pod(nodeSelector={"beta.kubernetes.io/os": "linux"}, topologySpreadConstraints=[spread])
    assert pod_warnings(made, "template.") == [
        'template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
        "template.spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod",
    ]
