"""Writes a pod's status if it changed, and retries over concurrent writes."""

import logging

from steersman.client.client import Client
from steersman.errors import ApiError, Conflict, NotFound, TransportError
from steersman.kinds.core_v1 import Pod, PodStatus
from steersman.protocol.resource_version import is_older

_log = logging.getLogger(__name__)


class StatusWriter:
    """Knows the newest state of one pod, and writes its status."""

    def __init__(self, pod: Pod, client: Client) -> None:
        self.pod = pod
        #: Whether the pod no longer exists on the API server.
        self.is_gone = False
        self._client = client

    def saw(self, pod: Pod) -> None:
        """Record a state of the pod, unless a newer one is known."""
        if not is_older(pod.resource_version, self.pod.resource_version):
            self.pod = pod

    async def write(self, status: PodStatus) -> bool:
        """Write a status; return whether that succeeded, so that it can be retried."""
        if self.is_gone or status == self.pod.status:
            return True
        self.pod.status = status
        try:
            self.pod = await self._client.status.update(self.pod)
        except NotFound:
            self.is_gone = True
        except Conflict:
            await self._look()
            return False
        except (ApiError, TransportError) as error:
            _log.warning("status not written", extra={"pod": str(self.pod.key), "error": str(error)})
            await self._look()
            return False
        return True

    async def _look(self) -> None:
        """Read the pod again, which may be another one of that name by now."""
        uid = self.pod.uid
        try:
            found = await self._client.get(Pod, self.pod.name, self.pod.namespace)
        except NotFound:
            self.is_gone = True
            return
        except (ApiError, TransportError):
            return
        self.is_gone = found.uid != uid
        if not self.is_gone:
            self.pod = found
