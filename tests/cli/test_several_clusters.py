"""`steer run` in several clusters: which ones are named, and what is rejected."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from steersman.cli.run import command

_TARGET = "tests.support.example_operator:operator"
_KUBECONFIG = """
clusters: [{name: eu, cluster: {server: "https://eu.invalid"}}]
contexts: [{name: eu, context: {cluster: eu}}, {name: eu-admin, context: {cluster: eu}}]
"""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--context=eu", "--context=us"], "context 'us' is not in"),
        (["--context=eu", "--context=eu-admin"], "contexts 'eu' and 'eu-admin' are the same cluster"),
        (["--context=eu", "--context=eu"], "a context is listed twice: eu, eu"),
        (["--context=eu", "--context=us", "--ui"], "--ui is for one cluster: remove it"),
        (["--context=eu", "--context=us", "--webhook-url=https://a"], "--webhook-url is for one cluster: remove it"),
        (["--context=a", "--context=b", "--cluster-secrets=ops"], "pass a single --context"),
        (["--context=nowhere", "--cluster-secrets=ops"], "context 'nowhere' is not in"),
    ],
)
def test_clusters_that_cannot_be_meant_are_wrong_usage(arguments: list[str], message: str, tmp_path: Path) -> None:
    """Nothing is connected to before all names are known."""
    path = tmp_path / "config"
    path.write_text(_KUBECONFIG)
    result = CliRunner().invoke(command, [_TARGET, f"--kubeconfig={path}", *arguments])
    assert result.exit_code == 2, result.output
    assert message in result.output


def test_the_clusters_of_the_author_are_used_unless_the_user_names_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A provider in the code must not make an operator touch a cluster when the user has named another one."""
    code = """
from steersman import Operator
class Nowhere:
    async def clusters(self):
        raise LookupError("the provider was asked")
        yield {}
operator = Operator("elsewhere", clusters=Nowhere())
"""
    (tmp_path / "operator_of_regions.py").write_text(code)
    (tmp_path / "config").write_text(_KUBECONFIG)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    asked = CliRunner().invoke(command, ["operator_of_regions:operator", "--dev"])
    assert "the provider was asked" in str(asked.exception)
    named = [f"--kubeconfig={tmp_path / 'config'}", "--context=asia"]
    found = CliRunner().invoke(command, ["operator_of_regions:operator", "--dev", *named])
    assert (found.exit_code, "context 'asia' is not in" in found.output) == (2, True)
