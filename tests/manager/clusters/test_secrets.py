"""Clusters by Secrets of a hub: they come and go with them, and a kubeconfig from there can use nothing of ours."""

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager

import pytest

from steersman.concurrency import background
from steersman.errors import ConfigError
from steersman.informer.list_watch_driver import ApiConnection
from steersman.kinds.core_v1 import Secret
from steersman.manager.clusters.secrets import CLUSTER_LABEL, SecretClusters, cluster_of
from steersman.objects.meta import meta
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from steersman.testing.faults import Reset
from steersman.transport.config import ClusterConfig, Token


def kubeconfig(server: str, *, cluster: str = "", user: str = "token: abc") -> bytes:
    """Return a kubeconfig with one context."""
    return (
        f"current-context: c\nclusters: [{{name: c, cluster: {{server: 'https://{server}', {cluster}}}}}]\n"
        f"users: [{{name: u, user: {{{user}}}}}]\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n"
    ).encode()


def secret(name: str, content: bytes, field: str = "kubeconfig") -> Secret:
    """Return a Secret that describes a cluster."""
    return Secret(meta(name, "default", labels={CLUSTER_LABEL: ""}), data={field: content})


class Seen:
    """The clusters as the provider has listed them last."""

    def __init__(self) -> None:
        self.lists: list[Mapping[str, ClusterConfig]] = []

    @property
    def servers(self) -> dict[str, str]:
        """Server of each cluster."""
        return {name: one.server for name, one in self.lists[-1].items()}


@asynccontextmanager
async def watching(cluster: Cluster) -> AsyncIterator[Seen]:
    """Follow the clusters of a hub inside the block."""
    seen = Seen()

    async def follow() -> None:
        hub = ApiConnection(cluster.transport, cluster.clock, cluster.randomness)
        async with aclosing(SecretClusters(hub, "default").clusters()) as found:
            async for clusters in found:
                seen.lists.append(clusters)

    async with background(follow(), name="follow"):
        await cluster.settle()
        yield seen


async def test_clusters_come_and_go_with_their_secrets(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A hub that does not answer says nothing about the clusters: they stay."""
    await cluster.client.create(secret("eu", kubeconfig("eu")))
    await cluster.client.create(Secret(meta("other"), data={"kubeconfig": kubeconfig("other")}))
    async with watching(cluster) as seen:
        assert seen.servers == {"eu": "https://eu"}
        await cluster.client.create(secret("us", kubeconfig("us"), field="value"))
        await cluster.settle()
        assert seen.servers == {"eu": "https://eu", "us": "https://us"}
        count = len(seen.lists)
        cluster.faults.inject(Reset(), times=None)
        cluster.faults.drop()
        await fake_clock.advance(300.0)
        assert len(seen.lists) == count
        cluster.faults.clear()
        await fake_clock.advance(60.0)
        await cluster.client.delete(await cluster.client.get(Secret, "eu"))
        await cluster.settle()
        assert seen.servers == {"us": "https://us"}


async def test_a_secret_that_became_unusable_leaves_its_cluster_as_it_was(
    cluster: Cluster, fake_clock: FakeClock
) -> None:
    """A mistake in a Secret must not end the work in a cluster; the settings of others stay equal, too."""
    del fake_clock
    await cluster.client.create(secret("eu", kubeconfig("eu")))
    await cluster.client.create(secret("us", kubeconfig("us")))
    async with watching(cluster) as seen:
        before = seen.lists[-1]
        broken = await cluster.client.get(Secret, "eu")
        broken.data = {"kubeconfig": b"no: kubeconfig"}
        await cluster.client.update(broken)
        await cluster.client.create(secret("bad", b"["))
        await cluster.settle()
        assert seen.lists[-1] == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (kubeconfig("a", user="tokenFile: /var/run/secrets/token"), "user 'u': tokenFile is not possible here"),
        (kubeconfig("a", user="client-key: k, client-certificate: c"), "client-certificate is not possible here"),
        (kubeconfig("a", user="exec: {command: sh, apiVersion: v1}"), "user 'u': exec is not possible here"),
        (kubeconfig("a", cluster="certificate-authority: ca"), "cluster 'c': certificate-authority is not possible"),
        (b"{}", "current-context is not set"),
    ],
)
def test_a_kubeconfig_of_a_hub_names_nothing_of_this_machine(content: bytes, message: str) -> None:
    """Its author could have the token of our service account sent to a server of theirs, or run a program here."""
    with pytest.raises(ConfigError, match=message):
        cluster_of(secret("a", content))


def test_a_secret_without_a_kubeconfig_says_where_it_belongs() -> None:
    """The label alone makes no cluster."""
    with pytest.raises(ConfigError, match="Secret default/a has no kubeconfig: put it into its field 'kubeconfig'"):
        cluster_of(secret("a", b"", field="config"))
    assert isinstance(cluster_of(secret("a", kubeconfig("a"))).authentication, Token)
