"""Deployments that fail, as their author sees them: what is wrong must be in what `steer` prints."""

import subprocess
from typing import Final

from tools.real_cluster.scenarios.user import ScenarioError, User
from tools.real_cluster.services import REGISTRY

_NAMESPACE: Final = "broken-system"


def run(user: User) -> None:
    """Deploy an image that does not exist, then an operator that cannot start, then one that works."""
    user.steer("init", "broken", "--domain", "example.com")
    user.steer("create", "api", "--group", "shop", "--version", "v1", "--kind", "Website")
    with user.step("deploy of an image that does not exist fails and says so") as notes:
        missing = f"{REGISTRY}/missing:1"
        notes.append(_failing(user, ("ErrImagePull", "ImagePullBackOff"), "deploy", "--image", missing, "--timeout=15"))
    main = user.folder / "broken" / "main.py"
    whole = main.read_text()
    main.write_text(
        f'{whole}\nimport os\n\nif "KUBERNETES_SERVICE_HOST" in os.environ:\n    raise OSError("no such disk")\n'
    )
    broken = user.publish("broken")
    with user.step("deploy of an operator that cannot start fails with its log") as notes:
        notes.append(_failing(user, ("no such disk",), "deploy", "--image", broken, "--timeout=60"))
    with user.step("doctor names the pod that fails"):
        _failing(user, ("CrashLoopBackOff", "exit code"), "doctor", "--deployed")
    main.write_text(whole)
    user.deploy(user.publish("broken"))
    with user.step("undeploy keeps a namespace with something else in it"):
        user.kubectl("create", "configmap", "precious", "-n", _NAMESPACE)
        user.steer("undeploy", "--yes")
        if user.get("configmap", "precious", "-n", _NAMESPACE) is None:
            raise ScenarioError("a ConfigMap that steer did not create is gone")


def _failing(user: User, expected: tuple[str, ...], *arguments: str) -> str:
    """Run a `steer` command that must fail with one of some texts in its output; return its last line."""
    command = ["steer", *arguments, *(["--yes"] if arguments[0] == "deploy" else [])]
    answer = subprocess.run(command, cwd=user.folder, capture_output=True, text=True, check=False)  # noqa: S603 - our own commands
    output = answer.stdout + answer.stderr
    if answer.returncode != 1 or not any(text in output for text in expected):
        raise ScenarioError(f"'{' '.join(command)}' ended with {answer.returncode} and printed\n{output}")
    return output.strip().rpartition("\n")[2][:160]
