"""`steer install`, `deploy`, `run` and `doctor` with a kind of two versions that functions convert."""

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from steersman.cli import main
from tests.cli.conftest import RunningServer
from tests.support.kubectl import KUBECTL

DEFINITION = "buoys.sea.mock.com"
MAIN = '''
"""Two versions of a kind."""

from steersman import Context, Model, Operator, Resource, Status, custom_resource
from steersman.schema import renames


class OldSpec(Model):
    light: str = "red"


class NewSpec(Model):
    colour: str = "red"


@custom_resource("sea.mock.com/v1alpha1", kind="Buoy")
class OldBuoy(Resource[OldSpec, Status]):
    """A buoy, as it was."""


@custom_resource("sea.mock.com/v1", kind="Buoy", storage=True)
class Buoy(Resource[NewSpec, Status]):
    """A buoy."""


renames(OldBuoy, Buoy, {".spec.light": ".spec.colour"})
operator = Operator("fleet")
operator.declare(OldBuoy)


@operator.reconciler(Buoy)
async def reconcile(buoy: Buoy, ctx: Context[Buoy]) -> None:
    """Do nothing."""
'''


@pytest.fixture
def buoys(project: Path) -> Path:
    """Add a kind with two versions to the project."""
    (project / "fleet/main.py").write_text(MAIN)
    return project


def steer(*arguments: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(main, arguments)


def kubectl(*arguments: str) -> str:
    """Read or change the cluster with kubectl."""
    answer = subprocess.run([KUBECTL, *arguments], capture_output=True, text=True, check=False)  # noqa: S603 - the test's own tool
    return answer.stdout + answer.stderr


def conversion() -> dict[str, object]:
    """Return the conversion of the CRD in the cluster."""
    found: dict[str, object] = json.loads(kubectl("get", "crd", DEFINITION, "-o", "json"))["spec"]["conversion"]
    return found


def test_install_after_deploy_keeps_the_conversion(server: RunningServer, buoys: Path) -> None:
    """It set the strategy to None, and objects of v1alpha1 silently lost their fields."""
    del server, buoys
    assert steer("deploy", "--yes", "--no-wait").exit_code == 0
    before = conversion()
    assert before["strategy"] == "Webhook"
    answer = steer("install", "--yes")
    assert answer.exit_code == 0, answer.output
    assert f"CustomResourceDefinition {DEFINITION} unchanged" in answer.stdout
    assert conversion() == before
    assert f"{DEFINITION} would not change" in steer("install", "--dry-run").stdout


@pytest.mark.parametrize("arguments", [("install", "--yes"), ("install", "--dry-run"), ("run", "--install-crds")])
def test_a_kind_without_a_conversion_webhook_is_not_installed(
    server: RunningServer, buoys: Path, arguments: tuple[str, ...]
) -> None:
    """The error says how conversion is served; a test that hangs here means that the operator runs."""
    del server, buoys
    answer = steer(*arguments)
    assert answer.exit_code == 2, answer.output
    assert f"{DEFINITION}: v1 and v1alpha1 differ in their fields" in answer.stderr
    for way in ("steer deploy", "--webhook-url", "steer dev"):
        assert way in answer.stderr
    assert "NotFound" in kubectl("get", "crd", DEFINITION)


def test_doctor_reports_a_missing_conversion(server: RunningServer, buoys: Path) -> None:
    """It said `as declared` of a CRD whose objects lose fields, and `steer install` does not fix that."""
    del server, buoys
    assert f"{DEFINITION} is not in the cluster: Buoy (v1, v1alpha1) is not served" in steer("doctor").stdout
    steer("deploy", "--yes", "--no-wait")
    patch = json.dumps([{"op": "replace", "path": "/spec/conversion", "value": {"strategy": "None"}}])
    kubectl("patch", "crd", DEFINITION, "--type", "json", "-p", patch)
    answer = steer("doctor").stdout
    assert (
        f" bad  definition {DEFINITION} converts nothing between its versions: objects lose fields silently" in answer
    )
    assert "→ run 'steer deploy'" in answer
    steer("deploy", "--yes", "--no-wait")
    kubectl("delete", "service", "fleet-webhooks", "-n", "fleet-system")
    answer = steer("doctor").stdout
    assert f" bad  conversion of {DEFINITION} calls service fleet-system/fleet-webhooks, which is not there" in answer
