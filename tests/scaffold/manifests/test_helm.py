"""The chart, read by Helm itself: `helm lint` reports nothing, `helm template` prints the manifests."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pytest

from steersman import Model, Operator, Resource, Status, custom_resource
from steersman.protocol.manifests import load, load_documents
from steersman.scaffold.manifests.chart import chart_files
from steersman.scaffold.manifests.plain import all_objects
from steersman.scaffold.manifests.shape import Shape, shape_from
from steersman.schema import Rule, renames
from tests.scaffold.manifests.test_settings import SETTINGS
from tests.support import example_operator

HELM = shutil.which("helm")


class OldSpec(Model):
    """The desired state, such as {{ .Values.wanted }}."""

    pattern: str = "{{ name }}"


class NewSpec(Model):
    """The desired state, such as {{- .Values.wanted -}} or {{"{{"}}."""

    template: Annotated[str, Rule("self == oldSelf || request.userInfo.username != '{{'", "no {{ braces }}")] = (
        "{{ name }}"
    )


@custom_resource("letters.example.com/v1alpha1", kind="Letter")
class OldLetter(Resource[OldSpec, Status]):
    """A letter whose text has {{ placeholders }}, in the old version."""


@custom_resource("letters.example.com/v1", kind="Letter", storage=True)
class Letter(Resource[NewSpec, Status]):
    """A letter whose text has {{ placeholders }}; Helm evaluates them in templates: {{ fail "now" }}."""


renames(OldLetter, Letter, {".spec.pattern": ".spec.template"})
letters = Operator("letters")
letters.declare(OldLetter, Letter)

CASES = {
    "plain": (example_operator.operator, Shape(image="registry.example.com/fleet:1.0", namespace="fleet-system")),
    "settings": (example_operator.operator, shape_from(SETTINGS, "fleet", version="1.0")),
    "monitoring": (example_operator.operator, shape_from({"monitoring": True}, "fleet", version="1.0")),
    "braces": (letters, shape_from({"monitoring": True, "env": {"TEMPLATE": "{{ x }}"}}, "letters", version="1.0")),
}


def by_name(objects: list[dict[str, Any]]) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Return objects by kind, namespace and name."""
    return {(obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"]): obj for obj in objects}


def comparable(value: Any) -> Any:
    """Leave out empty values, which a chart has and manifests do not, and fields that only a chart sets."""
    if isinstance(value, dict):
        kept = {
            key: comparable(inner) for key, inner in value.items() if key not in ("fsGroup", "helm.sh/resource-policy")
        }
        return {key: inner for key, inner in kept.items() if inner not in ({}, [])}
    return [comparable(inner) for inner in value] if isinstance(value, list) else value


@pytest.fixture(params=CASES)
def chart(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Operator, Shape]:
    """Return the folder of a chart, and its sources."""
    operator, shape = CASES[request.param]
    for name, text in chart_files(operator, shape, version="1.0.0").items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path, operator, shape


def helm(*arguments: str) -> str:
    """Run Helm and return its output."""
    if HELM is None:
        pytest.skip("helm is not installed: go install helm.sh/helm/v3/cmd/helm@latest")
    answer = subprocess.run([HELM, *arguments], capture_output=True, text=True, check=False)  # noqa: S603 - the test's own tool
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


def test_helm_lint_reports_nothing(chart: tuple[Path, Operator, Shape]) -> None:
    """Neither errors nor warnings; the missing icon is only information."""
    root, _, shape = chart
    report = helm("lint", str(root), "--namespace", shape.namespace, "--strict")
    assert "0 chart(s) failed" in report
    assert "[WARNING]" not in report


def test_helm_renders_the_objects_of_the_manifests(chart: tuple[Path, Operator, Shape]) -> None:
    """With the values of the project; braces are unchanged."""
    root, operator, shape = chart
    rendered = by_name(load(helm("template", "any", str(root), "--namespace", shape.namespace, "--include-crds")))
    expected = by_name([obj for obj in all_objects(operator, shape) if obj["kind"] != "Namespace"])
    assert {key: comparable(obj) for key, obj in rendered.items()} == {
        key: comparable(obj) for key, obj in expected.items()
    }


def test_values_of_a_cluster_override_those_of_the_project(chart: tuple[Path, Operator, Shape]) -> None:
    """That is the purpose of a chart."""
    root, operator, shape = chart
    values = ["replicas=5", "args={--verbose}", "env[0].name=A", "env[0].value=b", "nodeSelector.a=b"]
    sets = [part for value in values for part in ("--set", value)]
    rendered = by_name(load(helm("template", "any", str(root), "--namespace", shape.namespace, *sets)))
    deployment = rendered["Deployment", shape.namespace, operator.name]
    pod = deployment["spec"]["template"]["spec"]
    assert deployment["spec"]["replicas"] == 5
    assert pod["containers"][0]["args"][-1] == "--verbose"
    assert pod["containers"][0]["env"] == [{"name": "A", "value": "b"}]
    assert pod["nodeSelector"]["a"] == "b"


def test_braces_in_templates_are_escaped_without_helm_too() -> None:
    """A template without its own expressions contains no opening braces."""
    operator, shape = CASES["braces"]
    files = chart_files(operator, shape, version="1.0.0")
    text = files["templates/definitions.yaml"]
    assert '{{ "{{" }} placeholders }}' in text
    restored = text.replace('{{ "{{" }}', "«").replace("{{ .Release.Namespace }}", shape.namespace)
    assert "{{" not in restored
    [definition] = load_documents(restored.replace("«", "{{"))
    plain = [
        obj for obj in all_objects(operator, replace(shape, monitoring=False)) if obj["kind"] == definition["kind"]
    ]
    assert definition["spec"] == plain[0]["spec"]
