"""`steer migrate`: its output, with a server in a separate process."""

import json
import subprocess
from pathlib import Path

from click.testing import CliRunner, Result

from steersman.cli import main
from tests.cli.conftest import RunningServer
from tests.support.kubectl import KUBECTL

NAME = "boats.sea.example.com"


def _steer(*arguments: str, answer: str = "") -> Result:
    return CliRunner().invoke(main, arguments, input=answer)


def _kubectl(*arguments: str, document: object = None) -> str:
    given = json.dumps(document) if document is not None else None
    answer = subprocess.run([KUBECTL, *arguments], capture_output=True, text=True, check=True, input=given)  # noqa: S603 - the test's own tool
    return answer.stdout


def _define(stored: str) -> None:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [
        {"name": name, "served": True, "storage": name == stored, "schema": schema} for name in ("v1beta1", "v1")
    ]
    names = {"kind": "Boat", "plural": "boats", "singular": "boat", "shortNames": ["bt"]}
    spec = {"group": "sea.example.com", "scope": "Namespaced", "names": names, "versions": versions}
    definition = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    _kubectl("apply", "-f", "-", document={**definition, "metadata": {"name": NAME}, "spec": spec})


def _stored_versions() -> list[str]:
    versions: list[str] = json.loads(_kubectl("get", "crd", NAME, "-o", "json"))["status"]["storedVersions"]
    return versions


def test_a_kind_is_migrated_to_its_storage_version(server: RunningServer, tmp_path: Path) -> None:
    """Confirmed, shown, done, and repeated without harm; every name of the kind is accepted."""
    del tmp_path
    _define("v1beta1")
    for number in range(3):
        boat = {"apiVersion": "sea.example.com/v1beta1", "kind": "Boat", "metadata": {"name": f"b{number}"}}
        _kubectl("create", "-f", "-", document=boat)
    _define("v1")
    assert _stored_versions() == ["v1beta1", "v1"]

    refused = _steer("migrate", "Boat", answer="n\n")
    assert refused.exit_code == 1
    assert f"migrate Boat: context steersman at {server.url}" in refused.stderr
    shown = _steer("migrate", "bt", "--dry-run")
    assert shown.stdout == (
        f"{NAME}: would rewrite those of 3 objects that are not stored as v1, and remove v1beta1 from "
        "status.storedVersions\n"
    )
    assert _stored_versions() == ["v1beta1", "v1"]

    done = _steer("migrate", "boats", "--yes")
    assert done.exit_code == 0, done.output
    assert done.stdout == (f"{NAME}: 3 objects rewritten as v1, 0 were already; v1beta1 can be removed from the CRD\n")
    assert _stored_versions() == ["v1"]
    again = _steer("migrate", NAME, "--context", "steersman")
    assert again.stdout == f"{NAME}: every object is already stored as v1\n"

    unknown = _steer("migrate", "Ship", "--yes")
    assert unknown.exit_code == 1
    assert unknown.stderr.endswith("steer: this cluster has no CRD for 'Ship': only objects of CRDs are migrated\n")
