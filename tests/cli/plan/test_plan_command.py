"""`steer plan`, on a server in a process of its own: exit codes, formats, two versions side by side."""

import json
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from steersman.cli import main
from steersman.cli.dev.announcement import announced
from steersman.scaffold.image.build import Recipe, build
from steersman.scaffold.image.contents import CODE, needed_distributions, package_files, tree_files
from steersman.scaffold.image.layer import layer_of
from steersman.scaffold.image.layout import MANIFEST, Layout
from tests.cli.conftest import RunningServer
from tests.support.base_image import base_image
from tests.support.kubectl import KUBECTL
from tests.support.layout_registry import layout_registry

_SHIP = """\
apiVersion: sea.mock.com/v1
kind: Ship
metadata: {name: NAME, namespace: default}
"""
_RECONCILER = '''"""The reconciler of Ship."""

from steersman import Context, meta
from steersman.kinds.core_v1 import ConfigMap

from fleet.api.ship_v1 import Ship
from fleet.operator import operator


@operator.reconciler(Ship, owns=[ConfigMap])
async def reconcile(ship: Ship, ctx: Context[Ship]) -> None:
    """Keep a log."""
    await ctx.apply(ConfigMap(meta(ship.name), data={"log": "one"}))
'''


def steer(*arguments: str) -> Result:
    """Call a command."""
    return CliRunner().invoke(main, arguments)


def kubectl(*arguments: str, text: str = "") -> str:
    """Call kubectl."""
    made = subprocess.run([KUBECTL, *arguments], input=text, capture_output=True, text=True, check=True)  # noqa: S603 - the test's own tool
    return made.stdout


@pytest.fixture
def ships(server: RunningServer, project: Path) -> Path:
    """Return a project whose CRD is installed, with one ship that was not reconciled yet."""
    (project / "fleet/reconcilers/ship_reconciler.py").write_text(_RECONCILER, encoding="utf-8")
    installed = steer("install", "--yes")
    assert installed.exit_code == 0, installed.output
    kubectl("apply", "-f", "-", text=_SHIP.replace("NAME", "a"))
    assert server.url
    return project


def test_a_plan_is_shown_and_nothing_is_written(ships: Path) -> None:
    """Exit code 2 says that there is something to do; a second plan says the same."""
    for _ in range(2):
        found = steer("plan")
        assert found.exit_code == 2, found.output
        lines = found.stdout.splitlines()
        assert lines[0] == "Ship default/a"
        assert lines[1] == "  + ConfigMap a  1 key"
        assert lines[-1].startswith("1 object planned in ")
        assert lines[-1].endswith(" Nothing was written.")
    assert "configmap/a" not in kubectl("get", "configmaps", "-o", "name")
    assert ships.exists()


@pytest.mark.usefixtures("ships")
def test_a_running_steer_dev_is_planned_if_no_cluster_is_named(
    server: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `steer why` and `steer pause` do; otherwise the cluster of ~/.kube/config would be planned."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG")
    monkeypatch.setenv("HOME", str(tmp_path))
    with announced(server.kubeconfig):
        found = steer("plan")
    assert found.stdout.startswith("Ship default/a\n"), found.output


@pytest.mark.usefixtures("ships")
def test_a_plan_without_changes_ends_with_zero() -> None:
    """CI asks whether there is anything to do."""
    kubectl("delete", "ship", "a")
    found = steer("plan")
    assert found.exit_code == 0, found.output
    assert found.stdout.startswith("0 objects planned in ")
    assert found.stdout.splitlines()[-1] == "Note: there is nothing to plan: no Ship."
    found = steer("plan", "-l", "tier=none", "-n", "default")
    assert found.exit_code == 0, found.output
    assert "there is nothing to plan: no Ship with labels tier=none in namespace default." in found.stdout


@pytest.mark.usefixtures("ships")
def test_programs_read_json_and_yaml() -> None:
    """Both have the whole object that would be created."""
    by_json, by_yaml = steer("plan", "-o", "json"), steer("plan", "-o", "yaml", "ship/a", "-n", "default")
    assert by_json.exit_code == by_yaml.exit_code == 2, by_json.output + by_yaml.output
    for plan in (json.loads(by_json.stdout), yaml.safe_load(by_yaml.stdout)):
        assert plan["summary"]["creates"] == 1
        [ship] = plan["objects"]
        created = next(change for change in ship["changes"] if change["kind"] == "ConfigMap")
        assert created["action"] == "create"
        assert created["after"]["data"] == {"log": "one"}


@pytest.mark.usefixtures("ships")
def test_two_versions_are_compared(tmp_path: Path) -> None:
    """An upgrade is reviewed by what it does differently, not by what both do."""
    other = tmp_path / "other"
    shutil.copytree(Path.cwd(), other)
    same = steer("plan", "--against", str(other))
    assert same.exit_code == 0, same.output
    assert same.stdout == f"The operator here and the one in {other} do the same. Nothing was written.\n"
    reconciler = other / "fleet/reconcilers/ship_reconciler.py"
    printing = _RECONCILER.replace("    await ctx", "    print('printed')\n    await ctx").replace('"one"', '"two"')
    reconciler.write_text(printing, encoding="utf-8")
    found = steer("plan", "--against", str(other))
    assert found.exit_code == 2, found.output
    assert found.stdout.splitlines() == [
        "Ship default/a",
        f"  only in {other}:",
        "    + ConfigMap a  data.log two",
        "  only here:",
        "    + ConfigMap a  data.log one",
        "1 object is planned differently. Nothing was written.",
    ]
    settings = other / "pyproject.toml"
    settings.write_text(settings.read_text().replace("[tool.steersman]", '[tool.steersman]\nwatch = ["kube-system"]'))
    elsewhere = steer("plan", "--against", str(other))
    assert elsewhere.exit_code == 2, elsewhere.output
    assert "only here:\n    + ConfigMap a" in elsewhere.stdout, "the other one watches another namespace"


@pytest.fixture
def image(ships: Path, tmp_path: Path) -> Path:
    """Return an image of the project with all of its packages, as `steer image build` makes it."""
    machine = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
    base = base_image(tmp_path / "base", architecture=machine)
    recipe = Recipe(name="fleet", version="1", target="fleet.main:operator", platform=f"linux/{machine}")
    packages = layer_of("packages", package_files(needed_distributions(["steersman"])), epoch=0)
    reconciler = ships / "fleet/reconcilers/ship_reconciler.py"
    reconciler.write_text(_RECONCILER.replace('"one"', '"in the image"'), encoding="utf-8")
    code = layer_of("code", tree_files(ships / "fleet", f"{CODE}/fleet"), epoch=0)
    reconciler.write_text(_RECONCILER, encoding="utf-8")
    out = Layout(tmp_path / "image")
    out.root.mkdir()
    build(base, [packages, code], recipe, out)
    return out.root


@pytest.mark.skipif(sys.platform != "linux", reason="packages of images are for Linux")
def test_an_image_is_compared(image: Path, tmp_path: Path) -> None:
    """By its own code and packages: as a layout, and as a registry has it."""
    layout = Layout(image)
    manifest = layout.blob(layout.only()["digest"])
    with layout_registry(layout, {"1": (MANIFEST, manifest)}) as host:
        for name in (str(image), f"{host}/team/fleet:1"):
            found = steer("plan", "--against", name)
            assert found.exit_code == 2, found.output
            assert found.stdout.splitlines() == [
                "Ship default/a",
                f"  only in {name}:",
                "    + ConfigMap a  data.log in the image",
                "  only here:",
                "    + ConfigMap a  data.log one",
                "1 object is planned differently. Nothing was written.",
            ]
        missing = steer("plan", "--against", f"{host}/team/fleet:2")
    assert missing.exit_code == 1
    assert "the registry answers 404 manifest unknown" in missing.output
    assert not list(tmp_path.glob("steersman-*"))


@pytest.mark.usefixtures("ships")
@pytest.mark.skipif(sys.platform != "linux", reason="packages of images are for Linux")
def test_an_image_that_cannot_be_planned_here_is_rejected(tmp_path: Path) -> None:
    """Compiled packages are for one minor version of Python; an operator is what `steer run` runs."""
    machine = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
    recipe = Recipe(name="fleet", version="1", target="fleet.main:operator", platform=f"linux/{machine}")
    out = Layout(tmp_path / "image")
    out.root.mkdir()
    build(base_image(tmp_path / "base", architecture=machine, python="3.4"), [], recipe, out)
    for name, said in (
        (str(out.root), "has Python 3.4, and this is 3."),
        (str(tmp_path / "base"), "only an image that runs 'steer run MODULE:OPERATOR' can be planned"),
        ("../ghost", "--against: there is no folder and no archive ../ghost"),
        ("ghost", "is neither a folder nor an archive, and as an image 'ghost' names no registry"),
    ):
        found = steer("plan", "--against", name)
        assert found.exit_code == 1, found.output
        assert said in found.output


@pytest.mark.usefixtures("ships")
def test_a_file_is_planned_as_if_it_were_applied(tmp_path: Path) -> None:
    """What a person is about to apply, from a file or a pipe, by this version and by another one."""
    other = tmp_path / "other"
    shutil.copytree(Path.cwd(), other)
    (tmp_path / "b.yaml").write_text(_SHIP.replace("NAME", "b"), encoding="utf-8")
    for name, text in ((str(tmp_path / "b.yaml"), ""), ("-", _SHIP.replace("NAME", "b"))):
        found = CliRunner().invoke(main, ["plan", "-f", name, "ship/b"], input=text)
        assert found.exit_code == 2, found.output
        assert found.stdout.splitlines()[:4] == [
            "Proposed",
            "  + Ship default/b",
            "Ship default/b",
            "  + ConfigMap b  1 key",
        ]
    assert kubectl("get", "ships", "b", "--ignore-not-found", "-o", "name") == ""
    compared = steer("plan", "-f", str(tmp_path / "b.yaml"), "--against", str(other))
    assert compared.exit_code == 0, compared.output
    missing = steer("plan", "-f", "missing.yaml")
    assert missing.exit_code == 1
    assert "missing.yaml: No such file" in missing.output


_MISTAKES = (
    (["--no-such-option"], "No such option"),
    (["-f", "/dev/null"], "/dev/null: there are no objects in it"),
    (["ship"], "'ship' is not KIND/NAME"),
    (["no.such.module:operator"], "cannot import"),
    (["./fleet/main.py:operator"], "is a file: pass the module, such as fleet.main:operator"),
    (["clusterrole/odd:a:b"], "clusterrole/odd:a:b: the operator does not reconcile 'clusterrole'"),
    (["--context", "nowhere"], "nowhere"),
    (["-l", "a in"], "a in"),
    (["-n", "nowhere"], "namespace 'nowhere' does not exist"),
    (["ship/ghost"], "ship/ghost: there is no such object in any namespace"),
    (["ship/a", "-n", "kube-system"], "ship/a: there is no such object in namespace kube-system"),
)


@pytest.mark.usefixtures("ships")
def test_a_mistake_is_not_mistaken_for_changes() -> None:
    """Elsewhere wrong usage ends with 2; here 2 means changes. One project for all: it takes most of the time."""
    for arguments, expected in _MISTAKES:
        found = steer("plan", *arguments)
        assert (found.exit_code, expected in found.output) == (1, True), (arguments, found.output)


@pytest.mark.usefixtures("ships")
def test_a_plan_has_the_permissions_of_another_user() -> None:
    """A role that lacks a permission for the new version fails in the plan, and not after the deployment."""
    account = "system:serviceaccount:default:fleet"
    found = steer("plan", "--as", account)
    assert found.exit_code == 1, found.output
    assert f'User "{account}" cannot' in found.stderr
    kubectl("create", "clusterrole", "fleet", "--verb=get,list,watch,patch", "--resource=ships,ships/status")
    kubectl("create", "clusterrole", "maps", "--verb=get,list,watch", "--resource=configmaps")
    for role in ("fleet", "maps"):
        kubectl("create", "clusterrolebinding", role, f"--clusterrole={role}", "--serviceaccount=default:fleet")
    found = steer("plan", "--as", account)
    assert found.exit_code == 1, found.output
    assert "cannot patch resource" in found.stdout


@pytest.mark.usefixtures("ships")
def test_deploy_shows_the_plan_before_it_asks() -> None:
    """Also where a context is named: the answer depends on what the plan shows."""
    arguments = ["deploy", "--image", "fleet:1", "--plan", "--no-wait", "--context", "steersman"]
    refused = CliRunner().invoke(main, arguments, input="n\n")
    assert refused.exit_code == 1
    assert "+ ConfigMap a  1 key" in refused.stdout
    assert "nothing was changed" in refused.stderr
    assert "deployment" not in kubectl("get", "deployments", "-A", "-o", "name")


def test_a_failing_plan_is_not_deployed(ships: Path) -> None:
    """``--yes`` answers a question that is asked for a complete plan; no traceback shows what the operator read."""
    reconciler = ships / "fleet/reconcilers/ship_reconciler.py"
    failing = _RECONCILER.replace(
        "    await ctx.apply", "    print(REGION)\n    raise RuntimeError(REGION)\n    await ctx.apply"
    )
    text = failing.replace("from steersman import", "import os\n\nfrom steersman import", 1)
    text = text.replace("\n\n@operator", "\nREGION = os.environ.get('REGION', 'UNSET')\n\n\n@operator", 1)
    reconciler.write_text(text, encoding="utf-8")
    settings = ships / "pyproject.toml"
    more = '[tool.steersman]\nwatch = ["default"]\nenv = {REGION = "eu"}\n'
    settings.write_text(settings.read_text(encoding="utf-8").replace("[tool.steersman]\n", more, 1), encoding="utf-8")
    for name in [name for name in sys.modules if name.partition(".")[0] == "fleet"]:
        del sys.modules[name]  # as it was before it was edited
    found = steer("deploy", "--image", "fleet:1", "--plan", "--no-wait", "--yes")
    assert found.exit_code == 1, found.output
    assert "fails: RuntimeError: eu" in found.stdout
    assert "deploy without --plan" in found.stderr
    assert "Traceback" not in found.output
    assert "deployment" not in kubectl("get", "deployments", "-A", "-o", "name")


def test_a_reconciler_that_ends_the_process_is_an_error(ships: Path) -> None:
    """The exit code is that of the plan, not one that the operator chooses."""
    reconciler = ships / "fleet/reconcilers/ship_reconciler.py"
    reconciler.write_text(
        _RECONCILER.replace("    await ctx", "    raise SystemExit(0)\n    await ctx"), encoding="utf-8"
    )
    for name in [name for name in sys.modules if name.partition(".")[0] == "fleet"]:
        del sys.modules[name]  # as it was before it was edited
    found = steer("plan")
    assert found.exit_code == 1, found.output
    assert "! fails: SystemExit" in found.stdout


def test_a_module_that_ends_the_process_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 0 would say that there is nothing to do."""
    (tmp_path / "ends_at_once.py").write_text("import sys\nsys.exit(0)\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    found = steer("plan", "ends_at_once:operator")
    assert found.exit_code == 1, found.output
    assert "cannot import 'ends_at_once': it ends the process by sys.exit(0)" in found.stderr


def test_a_module_without_its_operator_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside of a project, the argument is what is wrong, not the missing project."""
    monkeypatch.chdir(tmp_path)
    found = steer("plan", "shop.main")
    assert found.exit_code == 1, found.output
    assert "'shop.main' is not KIND/NAME" in found.stderr
