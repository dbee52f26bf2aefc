"""`ClusterProvider`: the clusters that an operator works in. They may come and go while it runs."""

import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import NamedTuple, Protocol

from steersman.errors import ConfigError
from steersman.transport.config import ClusterConfig


class ClusterProvider(Protocol):
    """Finds clusters."""

    def clusters(self) -> AsyncGenerator[Mapping[str, ClusterConfig], None]:
        """Yield all clusters by their names, and again whenever they have changed.

        A cluster that is not in the next mapping is left: its manager stops. So yield nothing while you cannot know
        which clusters there are. If the iterator ends, the last mapping stays valid.
        """


class ContextClusters:
    """The clusters of some contexts of a kubeconfig; they do not change."""

    def __init__(self, contexts: Sequence[str], *, kubeconfig: str | os.PathLike[str] | None = None) -> None:
        """Read the contexts; raise ``ConfigError`` for one that is missing, or listed twice."""
        if len(set(contexts)) < len(contexts):
            raise ConfigError(f"a context is listed twice: {', '.join(contexts)}")
        self._configs = {name: ClusterConfig.from_kubeconfig(kubeconfig, context=name) for name in contexts}
        _reject_same_server(self._configs)

    async def clusters(self) -> AsyncGenerator[Mapping[str, ClusterConfig], None]:
        """Yield the clusters."""
        yield self._configs


def _reject_same_server(configs: Mapping[str, ClusterConfig]) -> None:
    """Raise ``ConfigError`` if two contexts are the same cluster: two managers would work on the same objects."""
    seen: dict[str, str] = {}
    for name, config in configs.items():
        other = seen.setdefault(config.server, name)
        if other != name:
            raise ConfigError(
                f"contexts {other!r} and {name!r} are the same cluster, {config.server}: pass one of them"
            )


class ClusterChanges(NamedTuple):
    """What to do when the clusters have changed."""

    #: Names of clusters to leave: they are gone, or have other settings.
    leave: list[str]
    #: Clusters to join.
    join: dict[str, ClusterConfig]


def cluster_changes(known: Mapping[str, ClusterConfig], now: Mapping[str, ClusterConfig]) -> ClusterChanges:
    """Return which clusters to leave and to join. One with other settings, such as a new token, is both."""
    leave = [name for name, config in known.items() if now.get(name) != config]
    return ClusterChanges(leave, {name: config for name, config in now.items() if known.get(name) != config})
