"""What `steer` writes for other programs: a chart for helm, a bundle for operator-framework, manifests for kubectl."""

import os
from typing import Final

from tools.real_cluster.packaging import ensure_packaging_tools
from tools.real_cluster.scenarios.user import ScenarioError, User

_NAME: Final = "fleet"
_NAMESPACE: Final = "charts"
_WEBSITES: Final = "websites.v1.shop.example.com"


def run(user: User) -> None:
    """Install, upgrade and uninstall a chart with helm, validate a bundle, and apply manifests with kubectl."""
    tools = ensure_packaging_tools()
    os.environ |= {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "HOME": str(user.folder)}
    _scaffold(user)
    image = user.publish(_NAME)
    _chart(user, image)
    _bundle(user, image)
    _manifests(user, image)


def _scaffold(user: User) -> None:
    user.steer("init", _NAME, "--domain", "example.com")
    for version in ("v1", "v1alpha1"):
        user.steer("create", "api", "--group", "shop", "--version", version, "--kind", "Website")
    stored = user.folder / _NAME / "api" / "website_v1.py"
    stored.write_text(stored.read_text().replace('/v1",', '/v1",\n    storage=True,'))
    user.steer("create", "webhook", "--kind", "Website", "--version", "v1", "--validate", "--default")
    user.steer("create", "webhook", "--kind", "Website", "--convert")


def _chart(user: User, image: str) -> None:
    with user.step("chart; helm lint --strict") as notes:
        user.steer("chart", "--image", image)
        notes.append(user.type("helm", "lint", "--strict", "chart").strip().rpartition("\n")[2])
    place = ("-n", _NAMESPACE)
    with user.step("helm install --wait, until ready"):
        user.type("helm", "install", _NAME, "./chart", *place, "--create-namespace", "--wait", "--timeout=180s")
        _reconciles(user, "installed")
    with user.step("helm upgrade --wait to 3 replicas and another environment, until ready"):
        values = ("--set", "replicas=3", "--set", "env[0].name=COLOUR", "--set", "env[0].value=blue")
        user.type("helm", "upgrade", _NAME, "./chart", *place, "--wait", "--timeout=180s", *values)
        deployment = user.get("deployment", _NAME, *place)
        if deployment["status"].get("availableReplicas") != 3:  # noqa: PLR2004 - the three above
            raise ScenarioError(f"not three replicas: {deployment['status']}")
        _reconciles(user, "upgraded")
    with user.step("helm rollback, until ready"):
        user.type("helm", "rollback", _NAME, "1", *place, "--wait", "--timeout=180s")
        _reconciles(user, "rolled back")
    with user.step("helm uninstall, until its pods are gone; CRDs and objects stay"):
        user.type("helm", "uninstall", _NAME, *place, "--wait", "--timeout=180s")
        user.until("no pods are left", lambda: not user.items("pods", *place))
        if user.get("crd", "websites.shop.example.com") is None:
            raise ScenarioError("helm deleted the CRD, and with it all objects")


def _reconciles(user: User, message: str) -> None:
    sample = user.folder / "sample.yaml"
    text = (user.folder / "samples" / "shop_website_v1.yaml").read_text()
    sample.write_text(text.replace("message: hello", f"message: {message}"))
    # The webhooks' certificate reaches the API server a moment after the pods are ready.
    user.until("the webhooks answer", lambda: _succeeds(user, "apply", "-f", str(sample)))
    user.until(f"it is reconciled: {message}", lambda: _message(user) == message)


def _message(user: User) -> str:
    return str((user.get(_WEBSITES, "website-sample") or {}).get("status", {}).get("message"))


def _succeeds(user: User, *arguments: str) -> bool:
    try:
        user.kubectl(*arguments)
    except ScenarioError:
        return False
    return True


def _bundle(user: User, image: str) -> None:
    with user.step("bundle; operator-framework's validation") as notes:
        user.steer("bundle", "--image", image)
        notes.append("; ".join(user.type("bundle-validator", "bundle").strip().splitlines()))


def _manifests(user: User, image: str) -> None:
    with user.step("manifests; kubectl apply --server-side, until ready"):
        user.steer("manifests", "--image", image)
        user.kubectl("apply", "--server-side", "--force-conflicts", "-f", "manifests/install.yaml")
        user.kubectl("rollout", "status", f"deployment/{_NAME}", "-n", f"{_NAME}-system", "--timeout=180s")
        _reconciles(user, "applied")
    with user.step("the same with kubectl apply -k, as a dry run; kubectl delete -k"):
        text = user.kubectl("apply", "--server-side", "-k", "manifests", "-o", "name", "--dry-run=server")
        if f"deployment.apps/{_NAME}" not in text:
            raise ScenarioError(f"the Deployment is not among {text}")
        user.kubectl("delete", _WEBSITES, "--all")
        user.kubectl("delete", "-k", "manifests", "--ignore-not-found")
