"""Config maps, secrets and claims that pods refer to, kept up to date by informers."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from steersman.client.client import Client
from steersman.informer.changes import Added, Change, record_of
from steersman.kinds.core_v1 import ConfigMap, PersistentVolumeClaim, Secret
from steersman.objects.identity import ObjectKey


class CachedInventory:
    """Config maps, secrets and claims, from replicas of them."""

    def __init__(self, client: Client) -> None:
        self._config_maps = client.informer(ConfigMap)
        self._secrets = client.informer(Secret)
        self.claims = client.informer(PersistentVolumeClaim)

    def config_map(self, namespace: str, name: str) -> ConfigMap | None:
        """Return a config map, if there is one."""
        return self._config_maps.get(ObjectKey(namespace, name))

    def secret(self, namespace: str, name: str) -> Secret | None:
        """Return a secret, if there is one."""
        return self._secrets.get(ObjectKey(namespace, name))

    def claim(self, namespace: str, name: str) -> PersistentVolumeClaim | None:
        """Return a claim, if there is one."""
        return self.claims.get(ObjectKey(namespace, name))

    @asynccontextmanager
    async def followed(self, changed: Callable[[str], None]) -> AsyncIterator[None]:
        """Watch them inside the block; call back with the namespace of each change."""

        def tell(change: Change) -> None:
            if not (isinstance(change, Added) and change.is_initial):
                changed(record_of(change).key.namespace)

        async with AsyncExitStack() as stack:
            for informer in (self._config_maps, self._secrets, self.claims):
                informer.add_handler(tell)
                await stack.enter_async_context(informer)
            yield
