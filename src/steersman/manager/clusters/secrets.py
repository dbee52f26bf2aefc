"""`SecretClusters`: clusters whose kubeconfigs are Secrets of a hub cluster; they come and go with these Secrets.

What is not known: a hub that does not answer says nothing about the clusters, so they stay as they were last seen. A
Secret that cannot be used says nothing either: it is logged, and the cluster keeps the settings that it had before, if
any. Only a deleted Secret, or one without the label, means that a cluster is left.
"""

import logging
from collections.abc import AsyncGenerator, Iterable, Mapping

from steersman.concurrency import background
from steersman.errors import ConfigError
from steersman.informer.informer import Informer, Selection
from steersman.informer.list_watch_driver import ApiConnection
from steersman.informer.wakeup import Wakeup
from steersman.kinds.core_v1 import Secret
from steersman.transport.auth.exec_plugin import PluginPolicy
from steersman.transport.auth.kubeconfig import Kubeconfig
from steersman.transport.config import ClusterConfig

_log = logging.getLogger("steersman.clusters")

#: Secrets with this label are clusters.
CLUSTER_LABEL = "steersman.dev/cluster"
#: Fields of a Secret that may contain the kubeconfig; Cluster API writes the second one.
_FIELDS = ("kubeconfig", "value")


class SecretClusters:
    """The clusters whose kubeconfigs are Secrets in a namespace of a hub cluster; a Secret's name is the cluster's."""

    def __init__(self, hub: ApiConnection, namespace: str, *, selector: str = CLUSTER_LABEL) -> None:
        self._hub = hub
        self._namespace = namespace
        self._selector = selector

    async def clusters(self) -> AsyncGenerator[Mapping[str, ClusterConfig], None]:
        """Yield the clusters of all Secrets once they are known, and again when one has changed."""
        secrets = Informer(Secret, self._hub, Selection(namespaces=(self._namespace,), label_selector=self._selector))
        changed = Wakeup()
        secrets.add_handler(lambda _: changed.set(), name="clusters")
        async with background(secrets.run(), name="informer/clusters"):
            await secrets.wait_synced()
            known: dict[str, ClusterConfig] = {}
            while True:
                known = _clusters(secrets.list(), known)
                yield known
                await changed.wait()


def _clusters(secrets: Iterable[Secret], known: Mapping[str, ClusterConfig]) -> dict[str, ClusterConfig]:
    """Return the settings of each cluster; those that are known already if its Secret cannot be used."""
    found: dict[str, ClusterConfig] = {}
    for secret in secrets:
        try:
            found[secret.name] = cluster_of(secret)
        except ConfigError as error:
            extra = {"secret": str(secret.key), "error": str(error)}
            _log.warning("a Secret does not describe a cluster", extra=extra)
            if secret.name in known:
                found[secret.name] = known[secret.name]
    return found


def cluster_of(secret: Secret) -> ClusterConfig:
    """Return the settings of the cluster that a Secret describes; raise ``ConfigError`` if it describes none.

    The kubeconfig may contain no names of files and no program: they would be those of this process.
    """
    data = secret.data or {}
    content = next((data[name] for name in _FIELDS if name in data), None)
    if content is None:
        raise ConfigError(f"Secret {secret.key} has no kubeconfig: put it into its field {_FIELDS[0]!r}")
    kubeconfig = Kubeconfig.parse_foreign(bytes(content), f"Secret {secret.key}")
    return kubeconfig.resolve(plugins=PluginPolicy.deny_all())
