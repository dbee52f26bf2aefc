import json
import subprocess
import sys
from pathlib import Path

import pytest

from steersman.codegen.builtin import read_discovery
from steersman.codegen.generator import builtin_modules
from steersman.errors import DeclarationError
from steersman.objects.identity import GroupVersionKind
from tests.support.kind_samples import sample

_ROOT = Path(__file__).parent.parent.parent
_KINDS = _ROOT / "src" / "steersman" / "kinds"
_TOOL = "tools/generate_kinds.py"


def generated(openapi: list[dict[str, object]] | None = None) -> dict[str, str]:
    """Generate from the sample."""
    discovery = sample("discovery")
    return builtin_modules(openapi or [sample("openapi")], [discovery["core"], discovery["groups"]], _TOOL)


@pytest.mark.parametrize(
    "module", ["apiextensions_v1.py", "coordination_v1.py", "meta_v1.py", "policy_v1.py", "rbac_v1.py"]
)
def test_committed_modules_are_the_output_of_the_generator(module: str) -> None:
    """A change of the generator requires a new run; an edit of a generated file fails here."""
    assert generated()[module] == (_KINDS / module).read_text(encoding="utf-8")


def test_order_of_the_input_does_not_matter() -> None:
    """The same server leads to the same files."""
    bundle = sample("openapi")
    schemas = dict(reversed(bundle["schemas"].items()))
    assert generated([{"kubernetes": bundle["kubernetes"], "schemas": schemas}]) == generated()


def test_openapi_documents_of_a_live_server_generate_the_same() -> None:
    """A server publishes one document per group version, and these overlap."""
    bundle = sample("openapi")
    half = len(bundle["schemas"]) // 2
    items = list(bundle["schemas"].items())
    documents = [
        {"openapi": "3.0.0", "info": {"version": bundle["kubernetes"]}, "components": {"schemas": dict(part)}}
        for part in (items[: half + 5], items[half:])
    ]
    assert generated(documents) == generated()


def test_kind_of_a_subresource_is_a_kind_without_a_path() -> None:
    """An Eviction is sent to a pod, so it needs a class."""
    discovery = sample("discovery")
    resources = {one.gvk: one for one in read_discovery([discovery["core"], discovery["groups"]])}
    eviction = resources[GroupVersionKind("policy", "v1", "Eviction")]
    assert (eviction.plural, eviction.subresources) == ("evictions", frozenset())
    assert resources[GroupVersionKind("", "v1", "Pod")].subresources == {"eviction"}


def test_unstable_versions_are_left_out() -> None:
    """Alpha and beta kinds are temporary; ``steer generate models`` creates classes for them on request."""
    discovery = sample("discovery")["groups"]
    for group in discovery["items"]:
        for version in group["versions"]:
            version["version"] = "v1beta1"
    assert read_discovery([discovery]) == []


def test_reference_to_an_unstable_type_is_an_error() -> None:
    """A stable kind that needs such a type would have a gap in its class."""
    bundle = sample("openapi")
    bundle["schemas"]["io.k8s.api.rbac.v1.Role"]["properties"]["x"] = {
        "$ref": "#/components/schemas/io.k8s.api.core.v1beta1.Thing"
    }
    with pytest.raises(DeclarationError, match=r"core\.v1beta1\.Thing"):
        generated([bundle])


def test_tool_writes_the_files(tmp_path: Path) -> None:
    """The command does what its help says."""
    for name in ("openapi", "discovery"):
        (tmp_path / f"{name}.json").write_bytes(json.dumps(sample(name)).encode())
    out = tmp_path / "out"
    out.mkdir()
    command = [sys.executable, _TOOL, "--openapi", str(tmp_path / "openapi.json"), "--discovery"]
    command += [str(tmp_path / "discovery.json"), "--into", str(out)]
    subprocess.run(command, check=True, cwd=_ROOT, capture_output=True)  # noqa: S603 - this Python, our tool
    assert {file.name: file.read_text(encoding="utf-8") for file in out.iterdir()} == generated()
