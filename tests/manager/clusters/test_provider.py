"""Which clusters an operator works in: contexts of a kubeconfig, and what changes from one list to the next."""

from pathlib import Path

import pytest

from steersman.errors import ConfigError
from steersman.manager.clusters.provider import ContextClusters, cluster_changes
from steersman.transport.config import ClusterConfig

EU, US = ClusterConfig(server="https://eu"), ClusterConfig(server="https://us")
_KUBECONFIG = """
current-context: eu
clusters: [{name: eu, cluster: {server: "https://eu"}}, {name: us, cluster: {server: "https://us"}}]
contexts:
- {name: eu, context: {cluster: eu}}
- {name: us, context: {cluster: us}}
- {name: eu-admin, context: {cluster: eu}}
"""


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    """Write a kubeconfig with three contexts of two clusters."""
    path = tmp_path / "config"
    path.write_text(_KUBECONFIG)
    return path


async def test_only_the_named_contexts_are_clusters(kubeconfig: Path) -> None:
    """A kubeconfig has clusters that the operator must not touch."""
    found = [one async for one in ContextClusters(["us"], kubeconfig=kubeconfig).clusters()]
    assert [{name: one.server for name, one in clusters.items()} for clusters in found] == [{"us": "https://us"}]


@pytest.mark.parametrize(
    ("contexts", "message"),
    [
        (["eu", "eu"], "a context is listed twice: eu, eu"),
        (["eu", "eu-admin"], "contexts 'eu' and 'eu-admin' are the same cluster, https://eu: pass one of them"),
        (["asia"], "context 'asia' is not in"),
    ],
)
def test_contexts_that_cannot_be_meant_are_rejected(kubeconfig: Path, contexts: list[str], message: str) -> None:
    """Two managers in one cluster would overwrite each other's work."""
    with pytest.raises(ConfigError, match=message):
        ContextClusters(contexts, kubeconfig=kubeconfig)


def test_a_cluster_with_other_settings_is_left_and_joined() -> None:
    """Its connections have the old credentials; clusters that are as before are not disturbed."""
    other = ClusterConfig(server="https://us", namespace="ops")
    assert cluster_changes({"eu": EU, "us": US}, {"eu": EU, "us": other}) == (["us"], {"us": other})
    assert cluster_changes({"eu": EU, "us": US}, {"eu": EU}) == (["us"], {})
    assert cluster_changes({}, {"eu": EU}) == ([], {"eu": EU})
