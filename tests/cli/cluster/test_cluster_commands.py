"""Commands that change a cluster: they name it, ask first, and report the result for each object."""

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from steersman.cli import main
from steersman.protocol.manifests import dump, load
from tests.cli.conftest import RunningServer
from tests.support.kubectl import KUBECTL


def steer(*arguments: str, answer: str = "") -> Result:
    """Run the command."""
    return CliRunner().invoke(main, arguments, input=answer)


def kubectl(*arguments: str) -> str:
    """Query the server with kubectl."""
    answer = subprocess.run([KUBECTL, *arguments], capture_output=True, text=True, check=False)  # noqa: S603 - the test's own tool
    return answer.stdout + answer.stderr


def names(kind: str) -> list[str]:
    """Return the names of all objects of a kind."""
    items = json.loads(kubectl("get", kind, "-A", "-o", "json"))["items"]
    return [item["metadata"]["name"] for item in items]


def test_nothing_is_written_before_the_user_confirms(server: RunningServer, project: Path) -> None:
    """Using the wrong context is a common accident: it is shown before the first write."""
    del project
    refused = steer("install", answer="n\n")
    assert refused.exit_code == 1
    assert f"install 1 CRD: context steersman at {server.url}" in refused.stderr
    assert refused.stderr.endswith("nothing was changed\n")
    unanswered = steer("install")
    assert "pass --yes" in unanswered.stderr
    assert names("crd") == []
    assert steer("install", answer="y\n").exit_code == 0
    assert names("crd") == ["ships.sea.mock.com"]


def test_naming_the_context_is_a_confirmation(server: RunningServer, project: Path) -> None:
    """A user who types the name of the cluster has checked it."""
    del server, project
    assert steer("install", "--context", "steersman").exit_code == 0
    assert "unchanged" in steer("install", "--context", "steersman").stdout
    wrong = steer("install", "--context", "nowhere")
    assert wrong.exit_code == 2
    assert "nowhere" in wrong.stderr


def test_a_dry_run_shows_a_diff_and_changes_nothing(server: RunningServer, project: Path) -> None:
    """Users check first, also when namespaces and kinds do not exist yet."""
    del server, project
    first = steer("deploy", "--dry-run", "--image", "fleet:1")
    assert first.exit_code == 0
    assert ["+", "image:", "fleet:1"] in [line.split() for line in first.stdout.splitlines()]
    assert names("deployments") == []
    steer("deploy", "--yes", "--no-wait", "--image", "fleet:1")
    second = steer("deploy", "--dry-run", "--image", "fleet:2")
    changed = [line for line in second.stdout.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert [line.split() for line in changed] == [["-", "image:", "fleet:1"], ["+", "image:", "fleet:2"]]
    assert "fleet:1" in kubectl("get", "deployment", "fleet", "-n", "fleet-system", "-o", "yaml")


def test_an_operator_is_deployed_and_removed(server: RunningServer, project: Path) -> None:
    """CRDs and custom objects outlive the operator; everything else is deleted with it."""
    del server, project
    assert steer("deploy", "--yes", "--no-wait").exit_code == 0
    assert names("deployments") == ["fleet"]
    assert "fleet" in names("clusterroles")
    assert steer("samples", "apply", "--yes").exit_code == 0
    assert names("ships") == ["ship-sample"]
    assert steer("undeploy", "--yes").exit_code == 0
    assert names("deployments") == []
    assert "fleet" not in names("clusterroles")
    assert names("ships") == ["ship-sample"]
    assert "does not exist" in steer("undeploy", "--yes").stdout


def test_crds_with_objects_are_not_deleted_by_accident(server: RunningServer, project: Path) -> None:
    """Deleting a CRD deletes all of its objects."""
    del server, project
    steer("install", "--yes")
    steer("samples", "apply", "--yes")
    refused = steer("uninstall", "--yes")
    assert refused.exit_code == 1
    assert "1 objects of ships would be deleted" in refused.stderr
    assert names("ships") == ["ship-sample"]
    assert "would be deleted" in steer("uninstall", "--dry-run", "--with-objects").stdout
    assert steer("uninstall", "--yes", "--with-objects").exit_code == 0
    assert names("crd") == []


def test_an_unreachable_server_is_one_sentence(tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No traceback, and the exit code of a failure."""
    del project
    path = tmp_path / "config"
    path.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n"
        "users: [{name: a, user: {}}]\nclusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]\n"
    )
    monkeypatch.setenv("KUBECONFIG", str(path))
    answer = steer("install", "--yes")
    assert answer.exit_code == 1
    assert len(answer.stderr.splitlines()) == 2
    assert "127.0.0.1:1" in answer.stderr.splitlines()[1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import nothing_like_this\n", "No module named 'nothing_like_this'"),
        ("def broken(:\n", "SyntaxError"),
        ("operator = undefined\n", "NameError: name 'undefined' is not defined"),
        ("from steersman import Operator\noperator = Operator('')\n", "an operator needs a name"),
        ("operator = 1\n", "is not an Operator, but of the type int"),
        ("", "has no 'operator'"),
    ],
)
def test_an_error_in_the_operator_is_reported_with_its_location(project: Path, text: str, message: str) -> None:
    """The user's mistake is not a failure of the command."""
    (project / "fleet/main.py").write_text(text)
    answer = steer("manifests")
    assert answer.exit_code == 2
    assert message in answer.stderr
    assert answer.stderr.count("\n") == 1
    if "Error" in message:
        assert "main.py, line 1)" in answer.stderr
        assert steer("--debug", "manifests").exception.__cause__ is not None  # type: ignore[union-attr] # it failed


def test_manifests_are_checked_in_ci(project: Path) -> None:
    """An outdated file is a failure, and so is one that is no longer generated."""
    assert steer("manifests", "--check").exit_code == 1
    assert steer("manifests").exit_code == 0
    assert steer("manifests", "--check").exit_code == 0
    (project / "manifests/service.yaml").write_text("")
    answer = steer("manifests", "--check")
    assert answer.exit_code == 1
    assert "service.yaml; run 'steer manifests'" in answer.stderr
    steer("manifests")
    old = project / "manifests/crds/old.yaml"
    old.write_text((project / "manifests/service.yaml").read_text())
    mine = project / "manifests/mine.yaml"
    mine.write_text("kind: Mine\n")
    assert "crds/old.yaml" in steer("manifests", "--check").stderr
    steer("manifests")
    assert (old.exists(), mine.exists()) == (False, True)


def test_breaking_changes_since_a_release_fail(project: Path) -> None:
    """Before a release, against a folder and against a revision."""
    steer("manifests")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "a"], ["tag", "v1"]):
        subprocess.run([*git, *arguments], cwd=project, check=True)  # noqa: S603 - the test's own repository
    assert steer("manifests", "--against", "v1").exit_code == 0
    released = project / "manifests/crds/ships.sea.mock.com.yaml"
    [definition] = load(released.read_bytes())
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"]["flag"] = {"type": "string"}
    released.write_text(dump([definition]))
    answer = steer("manifests", "--against", "manifests")
    assert answer.exit_code == 1
    assert "breaking" in answer.stdout
    assert "1 breaking change since manifests" in answer.stderr
    assert "neither a file, a folder nor a git revision" in steer("manifests", "--against", "v9").stderr


def test_arguments_that_the_operator_would_reject_are_rejected(project: Path) -> None:
    """A typo in pyproject.toml is found here, not in the log of a pod that restarts forever."""
    settings = project / "pyproject.toml"
    text = settings.read_text()
    settings.write_text(text.replace("[tool.steersman]\n", '[tool.steersman]\nargs = ["--verbos"]\n'))
    answer = steer("manifests")
    assert answer.exit_code == 2
    assert "[tool.steersman]: args: No such option '--verbos'" in answer.stderr
    settings.write_text(text.replace("[tool.steersman]\n", '[tool.steersman]\nargs = ["--verbose"]\n'))
    assert steer("manifests", "--monitoring").exit_code == 0
    assert "- --verbose" in (project / "manifests/deployment.yaml").read_text()
    assert "kind: PrometheusRule" in (project / "manifests/monitoring.yaml").read_text()


@pytest.mark.parametrize("command", ["chart", "bundle"])
def test_charts_and_bundles_are_written_and_checked(project: Path, command: str) -> None:
    """They are generated files like the manifests."""
    assert steer(command).exit_code == 0
    assert steer(command, "--check").exit_code == 0
    assert (project / command).is_dir()
