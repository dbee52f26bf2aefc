"""A test's cluster on a port."""

import asyncio
import json
from pathlib import Path

import pytest

from steersman import Client, meta
from steersman.clock import RealClock
from steersman.errors import Unauthorized
from steersman.kinds.core_v1 import ConfigMap
from steersman.testing import served
from steersman.testing.cluster import Cluster
from tests.support.kubectl import KUBECTL


async def test_kubectl_reaches_the_cluster_of_a_test() -> None:
    """Kubectl sends a token over TLS only, so plain HTTP would not work."""
    async with Cluster.start(clock=RealClock()) as cluster, served(cluster) as kubeconfig:
        await cluster.client.create(ConfigMap(meta("chart", namespace="default")))
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            KUBECTL, "--kubeconfig", str(kubeconfig), "get", "configmap", "-o", "name", stdout=pipe, stderr=pipe
        )
        out, err = await process.communicate()
        assert (out.decode().splitlines(), err.decode()) == (["configmap/chart"], "")


async def test_a_client_without_the_token_is_rejected(tmp_path: Path) -> None:
    """The token makes its user the admin, and other users may run programs on this machine."""
    async with Cluster.start(clock=RealClock()) as cluster, served(cluster) as kubeconfig:
        document = json.loads(kubeconfig.read_bytes())
        document["users"][0]["user"]["token"] = "guessed"
        wrong = tmp_path / "kubeconfig"
        wrong.write_text(json.dumps(document))
        async with Client.connect(kubeconfig=str(wrong)) as client:
            with pytest.raises(Unauthorized):
                await client.get(ConfigMap, "chart", namespace="default")
