"""`PodTokens`: the tokens of a pod's service account that its volumes contain, and when they are renewed."""

from collections.abc import Iterable
from typing import TypeAlias

from steersman.client.client import Client
from steersman.client.interfaces import Ref
from steersman.clock import Clock
from steersman.errors import ApiError, TransportError
from steersman.kinds.core_v1 import Container, Pod, ServiceAccount
from steersman.localcluster.process_node.containers.problem import MountError
from steersman.localcluster.process_node.files.projected_files import ProjectedToken, tokens_wanted

#: Tokens by volume and path.
Tokens: TypeAlias = dict[tuple[str, str], str]

#: A token is renewed when this share of its life is over, but after a day at the latest, as by a kubelet.
_SHARE, _DAY = 0.8, 86_400.0
#: Seconds before a renewal that failed is tried again.
_AGAIN = 10.0


class PodTokens:
    """The tokens of one pod, by container."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._tokens: dict[str, Tokens] = {}
        #: When the tokens of each container are renewed.
        self._due: dict[str, float] = {}

    def of(self, container: str) -> Tokens:
        """Return the current tokens of a container; empty if it mounts none."""
        return self._tokens.get(container, {})

    def due(self, running: Iterable[str]) -> float | None:
        """Return when the next token of a running container is renewed; ``None`` if there is none."""
        return min((self._due[name] for name in running if name in self._due), default=None)

    async def request(self, pod: Pod, container: Container) -> Tokens:
        """Request the tokens that a container mounts; raise ``MountError`` if that fails."""
        mounted = {mount.name for mount in container.volume_mounts or ()}
        wanted = [
            (volume.name, token)
            for volume in pod.spec.volumes or ()
            if volume.name in mounted
            for token in tokens_wanted(volume)
        ]
        tokens: Tokens = {}
        lives = []
        for volume, token in wanted:
            try:
                tokens[volume, token.path], seconds = await self._request_token(pod, token)
            except (ApiError, TransportError) as error:
                account = pod.spec.service_account_name or "default"
                raise MountError(f'volume "{volume}" gets no token of account {account}: {error}') from None
            lives.append(min(seconds * _SHARE, _DAY))
        self._tokens[container.name] = tokens
        if lives:
            self._due[container.name] = self._clock.monotonic() + min(lives)
        return tokens

    async def renew(self, pod: Pod, running: list[Container]) -> list[Container]:
        """Renew the tokens that are due; return the containers whose files change.

        Tokens that cannot be renewed stay as they are until the next try: they are valid for some time.
        """
        now = self._clock.monotonic()
        renewed = []
        for container in running:
            if self._due.get(container.name, now + 1.0) > now:
                continue
            try:
                await self.request(pod, container)
            except MountError:
                self._due[container.name] = now + _AGAIN
            else:
                renewed.append(container)
        return renewed

    async def _request_token(self, pod: Pod, token: ProjectedToken) -> tuple[str, float]:
        """Return a new token and the seconds of its life."""
        account = Ref(ServiceAccount, pod.spec.service_account_name or "default", pod.namespace)
        spec = {
            "audiences": [token.audience] if token.audience else [],
            "expirationSeconds": token.seconds,
            "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid},
        }
        answer = await self._client.create_subresource(account, "token", {"spec": spec})
        return str(answer["status"]["token"]), float(answer["spec"]["expirationSeconds"])
