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
