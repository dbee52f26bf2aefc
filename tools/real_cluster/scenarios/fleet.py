"""A new project with admission webhooks and two versions of its kind: from nothing to a cluster and back."""

import os
import signal
import time
from pathlib import Path
from typing import Final

from steersman.json_types import JsonObject
from tools.real_cluster.scenarios.load import Call, Load
from tools.real_cluster.scenarios.user import ScenarioError, User, kill_processes, kill_program

_NAME: Final = "fleet"
_NAMESPACE: Final = "fleet-system"
_DEPLOYMENT: Final = f"deployment/{_NAME}"
_WEBSITES: Final = "/apis/shop.example.com/{}/namespaces/default/websites"


def run(user: User) -> None:
    """Go the whole way."""
    _scaffold(user)
    image = user.publish(_NAME)
    user.deploy(image)
    with user.step("samples apply, until reconciled"):
        user.steer("samples", "apply", "--yes")
        _wait_reconciled(user, "website-sample", "hello")
    with user.step("doctor --deployed finds nothing"):
        user.steer("doctor", "--deployed")
    with user.step("scale to 3 replicas, until ready"):
        user.kubectl("scale", _DEPLOYMENT, "-n", _NAMESPACE, "--replicas=3")
        _wait_rolled_out(user)
    _lose_leaders(user)
    _restart_under_load(user)
    _lose_api_server(user)
    user.undeploy(_NAMESPACE)
    with user.step("deploy again right after undeploy"):
        user.steer("deploy", "--image", image, "--yes", "--no-wait")
        user.steer("undeploy", "--yes")
        user.steer("deploy", "--image", image, "--yes")
        _write(user, "again")
        _wait_reconciled(user, "website-sample", "again")
    user.undeploy(_NAMESPACE)
    with user.step("delete the objects, uninstall the CRDs"):
        user.kubectl("delete", "websites.v1.shop.example.com", "--all")
        user.steer("uninstall", "--yes")
        if user.get("crd", "websites.shop.example.com") is not None:
            raise ScenarioError("the CRD is still there")


def _scaffold(user: User) -> None:
    with user.step("scaffold a project: two versions, webhooks"):
        user.steer("init", _NAME, "--domain", "example.com")
        for version in ("v1", "v1alpha1"):
            user.steer("create", "api", "--group", "shop", "--version", version, "--kind", "Website")
        stored = user.folder / _NAME / "api" / "website_v1.py"
        text = stored.read_text().replace('"shop.example.com/v1",', '"shop.example.com/v1",\n    storage=True,')
        stored.write_text(text)
        user.steer("create", "webhook", "--kind", "Website", "--version", "v1", "--validate", "--default")
        user.steer("create", "webhook", "--kind", "Website", "--convert")


def _wait_reconciled(user: User, name: str, message: str) -> None:
    def is_reconciled() -> bool:
        found = user.get("websites.v1.shop.example.com", name)
        return found is not None and found.get("status", {}).get("message") == message

    user.until(f"{name} is reconciled", is_reconciled)


def _wait_rolled_out(user: User) -> None:
    user.kubectl("rollout", "status", _DEPLOYMENT, "-n", _NAMESPACE, "--timeout=120s")


def _write(user: User, message: str) -> None:
    patch = f'{{"spec": {{"message": "{message}"}}}}'
    user.kubectl("patch", "websites.v1.shop.example.com", "website-sample", "--type=merge", "-p", patch)


def _leader_pod(user: User) -> tuple[str, JsonObject]:
    holder = user.until("a replica leads", lambda: user.leader(_NAME, _NAMESPACE))
    pods = user.items("pods", "-n", _NAMESPACE)
    return holder, next(pod for pod in pods if pod["metadata"]["name"] in holder)


def _lose_leaders(user: User) -> None:
    """Take the leader away, first politely and then not; a change is reconciled by another one each time."""
    for what, message in (("deleted", "after a deletion"), ("SIGKILLed", "after a kill")):
        holder, pod = _leader_pod(user)
        begun = time.monotonic()
        if what == "deleted":
            user.kubectl("delete", "pod", pod["metadata"]["name"], "-n", _NAMESPACE, "--wait=false")
        else:
            kill_processes(pod, signal.SIGKILL)
        user.until(
            "another replica leads",
            lambda holder=holder: user.leader(_NAME, _NAMESPACE) not in {"", holder},  # type: ignore[misc]
        )
        led = time.monotonic() - begun
        _write(user, message)
        _wait_reconciled(user, "website-sample", message)
        seconds = time.monotonic() - begun
        user.done(f"leader pod {what}, until a change is reconciled", seconds, f"new leader after {led:.1f} s")
        _wait_rolled_out(user)


def _restart_under_load(user: User) -> None:
    """Restart all replicas while their webhooks are called: no call may fail."""
    with user.step("rolling restart under load") as notes, Load(Path(os.environ["KUBECONFIG"]), _calls()) as load:
        user.kubectl("rollout", "restart", _DEPLOYMENT, "-n", _NAMESPACE)
        _wait_rolled_out(user)
        notes += [
            f"{result.calls} {name}, {len(result.failures)} failed, slowest {result.slowest * 1000:.0f} ms"
            for name, result in load.results.items()
        ]
    failures = [failure for result in load.results.values() for failure in result.failures]
    if failures:
        raise ScenarioError(f"{len(failures)} calls failed during a rolling restart, the first: {failures[0]}")


def _calls() -> dict[str, Call]:
    def admit(number: int) -> tuple[str, str, JsonObject]:
        website = {
            "apiVersion": "shop.example.com/v1",
            "kind": "Website",
            "metadata": {"name": f"load-{number}", "namespace": "default"},
            "spec": {"message": "load"},
        }
        return "POST", f"{_WEBSITES.format('v1')}?dryRun=All", website

    def convert(_: int) -> tuple[str, str, None]:
        return "GET", f"{_WEBSITES.format('v1alpha1')}/website-sample", None

    return {"admissions": admit, "conversions": convert}


def _lose_api_server(user: User) -> None:
    with user.step("API server killed, until a change is reconciled") as notes:
        begun = time.monotonic()
        kill_program("kube-apiserver")
        user.until("the API server answers again", lambda: _answers(user))
        notes.append(f"it answers again after {time.monotonic() - begun:.1f} s")
        _write(user, "after an outage")
        _wait_reconciled(user, "website-sample", "after an outage")


def _answers(user: User) -> bool:
    try:
        user.kubectl("get", "--raw", "/readyz")
    except ScenarioError:
        return False
    return True
