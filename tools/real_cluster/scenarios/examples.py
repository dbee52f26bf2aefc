"""Operators of `examples/`, deployed in containers."""

import json
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from steersman.json_types import JsonObject
from tools.real_cluster.node import push_image
from tools.real_cluster.scenarios.user import ScenarioError, User, copied_example
from tools.real_cluster.services import REGISTRY

EXAMPLES: Final = Path(__file__).parents[3] / "examples"
#: Port of the provider of networks.
_NEUTRON: Final = 9696


def deploy_example(user: User, name: str, *stand_ins: tuple[str, str]) -> None:
    """Deploy an example; images that it uses are ours under other names, because there is no registry but ours."""
    user.folder = copied_example(EXAMPLES / name, user.folder / name)
    for layout, reference in stand_ins:
        push_image(user.images / layout, f"{REGISTRY}/{reference}")
    user.deploy(user.publish(name))


def _running(user: User, count: int) -> Callable[[], bool]:
    def look() -> bool:
        pods = [pod for pod in user.items("pods") if "deletionTimestamp" not in pod["metadata"]]
        return len(pods) == count and all(pod["status"].get("phase") == "Running" for pod in pods)

    return look


def custompod(user: User) -> None:
    """Check that pods of a CustomPod run, are replaced and are removed."""
    deploy_example(user, "custompod", ("busybox", "library/busybox:latest"))
    with user.step("1 CustomPod with 1 pod, until it runs"):
        user.steer("samples", "apply", "--yes")
        user.until("one pod runs", _running(user, 1))
    with user.step("scale to 5 pods, until they run"):
        user.kubectl("scale", "custompod", "custompod-sample", "--replicas=5")
        user.until("five pods run", _running(user, 5))
    with user.step("2 pods deleted, until they are replaced"):
        names = [pod["metadata"]["name"] for pod in user.items("pods")][:2]
        user.kubectl("delete", "pod", *names, "--grace-period=1", "--wait=false")
        user.until("they are replaced", _running(user, 5))
    with user.step("delete it, until its pods are gone"):
        user.kubectl("delete", "custompod", "custompod-sample")
        user.kubectl("delete", "pods", "--all", "--grace-period=1")
        user.until("no pods are left", lambda: not user.items("pods"))
    user.undeploy("custompod-system")


def foobar(user: User) -> None:
    """Check that tasks are done, versions converted, and that a deleted FooBar leaves nothing behind."""
    deploy_example(user, "foobar")
    with user.step("sample, until it is applied"):
        user.steer("samples", "apply", "--yes")
        user.until("it is applied", lambda: _foobar_status(user) == "ApplySucceed")
    with user.step("another target, until it is applied"):
        user.kubectl("create", "configmap", "other")
        user.kubectl("patch", "foobar", "example-foobar", "--type=merge", "-p", '{"spec": {"target": "other"}}')
        user.until("the target is marked", lambda: user.get("configmap", "other")["metadata"].get("annotations"))
        seen = user.get("foobars.v1beta1.test.example.com", "example-foobar")
        if seen["spec"]["targetRef"]["name"] != "other":
            raise ScenarioError(f"v1beta1 has another target: {seen['spec']}")
    with user.step("delete it, until its mark is gone"):
        user.kubectl("delete", "foobar", "example-foobar")
        user.until("no mark is left", lambda: not user.get("configmap", "other")["metadata"].get("annotations"))
    user.undeploy("foobar-system")


def _foobar_status(user: User) -> Any:
    return user.get("foobar", "example-foobar").get("status", {}).get("status")


def samplecontroller(user: User) -> None:
    """Check that the Deployment of a Foo becomes available, and is put right when someone changes it."""
    deploy_example(user, "samplecontroller", ("pause", "library/nginx:latest"))
    with user.step("1 Foo, until its Deployment is available"):
        user.steer("samples", "apply", "--yes")
        user.until("one replica is available", lambda: _available(user) == 1)
    with user.step("3 replicas, until they are available"):
        user.kubectl("patch", "foo", "example-foo", "--type=merge", "-p", '{"spec": {"replicas": 3}}')
        user.until("three replicas are available", lambda: _available(user) == 3)  # noqa: PLR2004 - the three above
    with user.step("a foreign image is put right"):
        user.kubectl("set", "image", "deployment/example-foo", "nginx=example.com/intruder")
        user.until("the image is right", lambda: _image(user) == "nginx:latest")
    with user.step("delete it, until its Deployment is gone"):
        user.kubectl("delete", "foo", "example-foo")
        user.until("no deployment is left", lambda: not user.items("deployments"))
    user.undeploy("samplecontroller-system")


def _available(user: User) -> Any:
    return user.get("foo", "example-foo").get("status", {}).get("availableReplicas")


def _image(user: User) -> str:
    deployment = user.get("deployment", "example-foo")
    return str(deployment["spec"]["template"]["spec"]["containers"][0]["image"])


def project(user: User) -> None:
    """Check that the Deployment of a Project becomes available and follows its number of replicas."""
    deploy_example(user, "project", ("pause", "library/nginx:stable"))
    with user.step("1 Project with 2 replicas, until they are available"):
        user.steer("samples", "apply", "--yes")
        user.until("two replicas are available", lambda: _ready_replicas(user, "gzh-cr") == 2)  # noqa: PLR2004 - the sample's
    with user.step("kubectl scale to 3, until they are available"):
        user.kubectl("scale", "project", "gzh-cr", "--replicas=3")
        user.until("three replicas are available", lambda: _ready_replicas(user, "gzh-cr") == 3)  # noqa: PLR2004 - the three above
    user.undeploy("project-system")


def _ready_replicas(user: User, deployment: str) -> Any:
    return (user.get("deployment", deployment) or {}).get("status", {}).get("availableReplicas")


def kubewatch(user: User) -> None:
    """Check that an operator that learns at run time what to watch may do so in a cluster with RBAC."""
    deploy_example(user, "kubewatch")
    with user.step("1 Watcher, until its status says what is forbidden"):
        user.kubectl("apply", "-f", "samples/kubewatch_watcher_v1.yaml")
        user.until("it is forbidden", lambda: _reason(user.get("watcher", "watcher-sample"), "Ready") == "Forbidden")
    with user.step("its account may view, until an event is in the operator's log"):
        account = "--serviceaccount=kubewatch-system:kubewatch"
        user.kubectl("create", "clusterrolebinding", "kubewatch-view", "--clusterrole=view", account)
        user.until("it watches", lambda: _is_true(user.get("watcher", "watcher-sample"), "Ready"))
        user.kubectl("create", "configmap", "new")
        log = ("logs", "-n", "kubewatch-system", "-l", "app.kubernetes.io/name=kubewatch", "--tail=-1")
        user.until("the event is told", lambda: "ConfigMap new in namespace default" in user.kubectl(*log))
    with user.step("delete it"):
        user.kubectl("delete", "watcher", "watcher-sample")
    user.undeploy("kubewatch-system")


def network(user: User) -> None:
    """Check that a network at a provider is created in spite of errors, changed and deleted; the provider is a pod."""
    user.folder = copied_example(EXAMPLES / "network", user.folder / "network")
    settings = user.folder / "pyproject.toml"
    address = f"http://neutron.default.svc.cluster.local:{_NEUTRON}"
    settings.write_text(f'{settings.read_text()}\n[tool.steersman.env]\nNEUTRON_URL = "{address}"\n')
    image = user.publish("network")
    with user.step("the provider, until it runs"):
        arguments = ["-m", "network.neutron", "--host=0.0.0.0", f"--port={_NEUTRON}", "--errors=3"]
        user.kubectl("run", "neutron", f"--image={image}", "--command", "--", "python3", *arguments)
        user.kubectl("expose", "pod", "neutron", f"--port={_NEUTRON}")
        user.until("it runs", _running(user, 1))
    user.deploy(image)
    with user.step("1 Network, until it is provisioned after three errors of the provider"):
        user.steer("samples", "apply", "--yes")
        user.until("it is provisioned", lambda: _is_true(user.get("network", "example-network"), "Ready"))
    with user.step("another gateway, until the provider has it"):
        patch = '{"spec": {"gateway": "192.168.0.254"}}'
        user.kubectl("patch", "network", "example-network", "--type=merge", "-p", patch)
        user.until("the provider has it", lambda: "192.168.0.254" in _networks(user))
    with user.step("delete it, until the provider has none"):
        user.kubectl("delete", "network", "example-network")
        user.until("the provider has none", lambda: json.loads(_networks(user)) == {"networks": []})
    user.undeploy("network-system")


def _networks(user: User) -> str:
    """Return what the provider has."""
    address = user.get("pod", "neutron")["status"]["podIP"]
    with urllib.request.urlopen(f"http://{address}:{_NEUTRON}/v2.0/networks", timeout=10) as answer:
        return str(answer.read().decode())


def redisfailover(user: User) -> None:
    """Check that real Redis servers lose no key with their master, with more servers and with another version."""
    versions = ("7.2-alpine", "7.4-alpine")
    deploy_example(user, "redisfailover", *(("redis", f"library/redis:{version}") for version in versions))
    with user.step("3 servers and 3 sentinels, until ready"):
        user.kubectl("apply", "-f", "samples/basic.yaml")
        master = _wait_redis(user, 3, other_than="")
        _redis(user, master, "set", "greeting", "hello")
        _redis(user, master, "wait", "2", "5000")
    with user.step("master SIGKILLed with its pod, until another one is master"):
        user.kubectl("delete", "pod", master, "--grace-period=0", "--force")
        _wait_redis(user, 3, other_than=master)
    with user.step("scale to 5 servers, until ready"):
        _patch_redis(user, '{"replicas": 5}')
        _wait_redis(user, 5, other_than="")
    with user.step("another version, replicas first, until ready"):
        _patch_redis(user, '{"image": "redis:7.4-alpine"}')
        user.until("all servers have it", lambda: _redis_images(user) == {"redis:7.4-alpine"}, seconds=180)
        master = _wait_redis(user, 5, other_than="")
    if (kept := _redis(user, master, "get", "greeting")) != "hello":
        raise ScenarioError(f"the key has the value {kept!r} afterwards")
    with user.step("delete it, until its pods are gone"):
        user.kubectl("delete", "rf", "redisfailover")
        user.until("no pods are left", lambda: not user.items("pods"))
    user.undeploy("redisfailover-system")


def _patch_redis(user: User, settings: str) -> None:
    user.kubectl("patch", "rf", "redisfailover", "--type=merge", "-p", f'{{"spec": {{"redis": {settings}}}}}')


def _redis_pods(user: User) -> list[JsonObject]:
    return user.items("pods", "-l", "app.kubernetes.io/component=redis")


def _redis_images(user: User) -> set[str]:
    return {pod["spec"]["containers"][0]["image"] for pod in _redis_pods(user)}


def _wait_redis(user: User, servers: int, *, other_than: str) -> str:
    """Wait until so many servers are ready behind a master; return its pod."""

    def look() -> str:
        found = user.get("rf", "redisfailover")
        if not _is_true(found, "Ready") or found["status"].get("observedGeneration") != found["metadata"]["generation"]:
            return ""
        pods = [pod for pod in _redis_pods(user) if "deletionTimestamp" not in pod["metadata"]]
        masters = [pod["metadata"]["name"] for pod in pods if _role(pod) == "master"]
        is_whole = len(pods) == servers and all(_is_true(pod, "Ready") for pod in pods)
        return masters[0] if is_whole and len(masters) == 1 and masters[0] != other_than else ""

    return user.until(f"{servers} servers are ready behind one master", look, seconds=180)


def _role(pod: JsonObject) -> str:
    return str(pod["metadata"].get("labels", {}).get("redisfailovers-role"))


def _is_true(found: JsonObject, condition: str) -> bool:
    return _condition(found, condition).get("status") == "True"


def _reason(found: JsonObject, condition: str) -> str | None:
    return _condition(found, condition).get("reason")


def _condition(found: JsonObject, name: str) -> dict[str, str]:
    conditions = found.get("status", {}).get("conditions", ())
    return next((one for one in conditions if one["type"] == name), {})


def _redis(user: User, pod: str, *command: str) -> str:
    return user.kubectl("exec", pod, "-c", "redis", "--", "redis-cli", "-h", _address(user, pod), *command).strip()


def _address(user: User, pod: str) -> str:
    return str(user.get("pod", pod)["status"]["podIP"])
