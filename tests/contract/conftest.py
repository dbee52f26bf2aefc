"""Runs the contract on every available server."""

import pytest

from tests.contract.servers import KUBECONFIG, EmbeddedServer, RealServer, Server


@pytest.fixture(
    params=[
        "embedded",
        pytest.param("real", marks=pytest.mark.skipif(not KUBECONFIG, reason="no STEERSMAN_CONTRACT_KUBECONFIG")),
    ]
)
def server(request: pytest.FixtureRequest) -> Server:
    """Yield a server under contract."""
    return RealServer() if request.param == "real" else EmbeddedServer()
