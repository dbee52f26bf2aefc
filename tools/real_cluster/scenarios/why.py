"""`steer why` asks an operator in a cluster: through a port-forward to its pods, with the permissions of the caller."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Final

from tools.real_cluster.scenarios.user import ScenarioError, User

_NAME: Final = "shop"
_NAMESPACE: Final = "shop-system"
_DEPLOYMENT: Final = f"deployment/{_NAME}"
_SAMPLE: Final = "website/website-sample"


def run(user: User) -> None:
    """Ask a deployed operator: one replica and two, with and without the permission to forward ports."""
    with user.step("scaffold a project with a webhook"):
        user.steer("init", _NAME, "--domain", "example.com")
        user.steer("create", "api", "--group", "shop", "--version", "v1", "--kind", "Website")
        user.steer("create", "webhook", "--kind", "Website", "--version", "v1", "--validate")
    user.deploy(user.publish(_NAME))
    config = ("--kubeconfig", os.environ["KUBECONFIG"])
    with user.step("samples apply, until `steer why` says that it is ready") as notes:
        user.steer("samples", "apply", "--yes")
        text = user.until("it is ready", lambda: _ready(user, *config))
        notes.append(text.partition("\n")[0])
    _expect(text, "reconcile 1", "because it was created", "review of CREATE by /", "allowed")
    with user.step("`steer why` without an object"):
        _expect(user.steer("why", *config), f"{_NAME}: ", "leads", "Website: ", "cache of Website", "nothing fails")
    with user.step("--json"):
        view = json.loads(user.steer("why", _SAMPLE, *config, "--json"))
        if not view["reconciles"]:
            raise ScenarioError(f"no reconciles in {view}")
    with user.step("two replicas: the one that leads is found"):
        user.kubectl("scale", _DEPLOYMENT, "-n", _NAMESPACE, "--replicas=2")
        user.kubectl("rollout", "status", _DEPLOYMENT, "-n", _NAMESPACE, "--timeout=120s")
        overview = user.until("both answer", lambda: _both(user, *config))
        _expect(overview, "leads", "waits for leadership")
        _expect(user.steer("why", _SAMPLE, *config), "reconcile 1")
    _follow(user, *config)
    _other_users(user)
    with user.step("an unknown object, kind and namespace of operators"):
        _expect(user.failing("why", "website/nothing", *config), "Website default/nothing does not exist")
        _expect(user.failing("why", "unicorn/a", *config), "unicorn")
        _expect(user.failing("why", *config, "--operator-namespace", "default"), "no running pod of an operator")
    user.kubectl("delete", "websites.shop.example.com", "--all")
    user.undeploy(_NAMESPACE)
    with user.step("no operator is deployed"):
        _expect(user.failing("why", *config), "no running pod of an operator in any namespace")


def _ready(user: User, *config: str) -> str:
    try:
        text = user.steer("why", _SAMPLE, *config)
    except ScenarioError:  # it does not exist yet, as far as the operator knows
        return ""
    return text if " is ready" in text.partition("\n")[0] else ""


def _both(user: User, *config: str) -> str:
    text = user.steer("why", *config)
    return text if text.count(f"{_NAME}: ") == 2 else ""  # noqa: PLR2004 - the two replicas


def _follow(user: User, *config: str) -> None:
    """Follow an object while it is changed, and while the pods of its operator are replaced."""
    with user.step("--follow, over a change and a restart"), (user.folder / "followed").open("w+") as output:
        command = ["steer", "why", _SAMPLE, *config, "--follow"]
        followed = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)  # noqa: S603 - our own command
        try:
            _wait_for(user, "reconcile 1", output.name)
            _change(user, "followed")
            _wait_for(user, "spec.message changed", output.name)
            user.kubectl("rollout", "restart", _DEPLOYMENT, "-n", _NAMESPACE)
            user.kubectl("rollout", "status", _DEPLOYMENT, "-n", _NAMESPACE, "--timeout=120s")
            _wait_for(user, "the operator has just started", output.name)
        finally:
            followed.terminate()
            followed.wait()


def _wait_for(user: User, words: str, path: str) -> None:
    try:
        user.until(f"`steer why --follow` prints {words!r}", lambda: words in Path(path).read_text())
    except ScenarioError as error:
        raise ScenarioError(f"{error}\nprinted so far:\n{Path(path).read_text()}") from error


def _change(user: User, message: str) -> None:
    patch = json.dumps({"spec": {"message": message}})
    user.kubectl("patch", "websites.shop.example.com", "website-sample", "--type=merge", "-p", patch)


def _other_users(user: User) -> None:
    """Ask as a user who may list pods; then also forward ports, which is all that is needed."""
    role = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "get"]}
    forward = {"apiGroups": [""], "resources": ["pods/portforward"], "verbs": ["get", "create"]}
    user.kubectl("create", "serviceaccount", "colleague")
    config = _config_of(user, user.kubectl("create", "token", "colleague").strip())
    with user.step("a user who may not list pods, nor forward ports: one sentence") as notes:
        message = user.failing("why", _SAMPLE, *config)
        _expect_one_sentence(message, 'cannot list resource "pods"')
        _grant(user, [role])
        message = user.until("the role is effective", lambda: _message_without(user, "cannot list", config))
        _expect_one_sentence(message, "pods/portforward")
        _expect_one_sentence(user.failing("why", *config), "pods/portforward")
        notes.append(message.strip())
    with user.step("the same user with `get` and `create` on pods/portforward is answered"):
        _grant(user, [role, forward])
        text = user.until("the role is effective", lambda: _ready(user, *config))
        _expect(text, "reconcile")


def _message_without(user: User, words: str, config: tuple[str, ...]) -> str:
    message = user.failing("why", _SAMPLE, *config)
    return "" if words in message else message


def _grant(user: User, rules: list[Any]) -> None:
    """Grant permissions in the namespace of the operator, and to list pods everywhere."""
    objects = [
        {"kind": "ClusterRole", "metadata": {"name": "colleague"}, "rules": rules},
        {
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "colleague"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "colleague"},
            "subjects": [{"kind": "ServiceAccount", "name": "colleague", "namespace": "default"}],
        },
    ]
    path = user.folder / "colleague.json"
    listed = [{"apiVersion": "rbac.authorization.k8s.io/v1", **one} for one in objects]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": listed}))
    user.kubectl("apply", "-f", str(path))


def _config_of(user: User, token: str) -> tuple[str, ...]:
    """Return the options for a user with a token."""
    path = user.folder / "colleague.kubeconfig"
    path.write_text(Path(os.environ["KUBECONFIG"]).read_text())
    own = ("--kubeconfig", str(path))
    cluster = json.loads(user.kubectl("config", "view", "-o", "json", *own))["clusters"][0]["name"]
    user.kubectl("config", "set-credentials", "colleague", f"--token={token}", *own)
    user.kubectl("config", "set-context", "colleague", f"--cluster={cluster}", "--user=colleague", *own)
    return (*own, "--context", "colleague")


def _expect(text: str, *words: str) -> None:
    for one in words:
        if one not in text:
            raise ScenarioError(f"{one!r} is not in:\n{text}")


def _expect_one_sentence(text: str, words: str) -> None:
    _expect(text, words)
    lines = text.strip().splitlines()
    if len(lines) != 1:
        raise ScenarioError(f"expected one line:\n{text}")
