"""The provider's API, as the operator needs it. A network there is found by the uid of its object, whatever its name.

A refusal (4xx) is final until somebody changes the object; everything else may be better in a moment.
"""

import os
from dataclasses import dataclass

from steersman import Model, SteersmanError
from steersman.errors import TransportError
from steersman.objects import decode_as
from steersman.protocol import Response
from steersman.transport import HttpService

#: Where the provider is, unless the environment says otherwise.
URL = os.environ.get("NEUTRON_URL", "http://neutron:9696")

#: Seconds that the provider gets to answer.
_TIMEOUT = 10.0
_OK, _NOT_FOUND, _REFUSALS = range(200, 300), 404, range(400, 500)
#: Refusals that say "not now" and not "never".
_NOT_NOW = (408, 425, 429)


class RejectedError(SteersmanError):
    """The provider will not have it, however often it is asked."""


class UnavailableError(SteersmanError):
    """The provider did not do it this time."""


class Wanted(Model):
    """What is asked of the provider."""

    uid: str
    cidr: str
    gateway: str


class Provided(Model):
    """A network as the provider has it."""

    id: str
    cidr: str
    gateway: str


class _Networks(Model):
    networks: list[Provided]


@dataclass(frozen=True)
class Provider:
    """Talks to the provider."""

    service: HttpService

    async def find(self, uid: str) -> Provided | None:
        """Give the network that was made for an object."""
        answer = await self._call("GET", f"/v2.0/networks?uid={uid}")
        found = decode_as(_Networks, answer.body).networks
        return found[0] if found else None

    async def create(self, wanted: Wanted) -> Provided:
        """Make a network; asking twice makes one."""
        answer = await self._call("POST", "/v2.0/networks", json=wanted, key=wanted.uid)
        return decode_as(Provided, answer.body)

    async def update(self, provided: Provided, wanted: Wanted) -> Provided:
        """Change a network."""
        answer = await self._call("PUT", f"/v2.0/networks/{provided.id}", json=wanted)
        return decode_as(Provided, answer.body)

    async def delete(self, provided: Provided) -> None:
        """Delete a network; one that is gone is fine."""
        await self._call("DELETE", f"/v2.0/networks/{provided.id}", missing_ok=True)

    async def _call(
        self, method: str, path: str, *, json: Wanted | None = None, key: str = "", missing_ok: bool = False
    ) -> Response:
        headers = {"idempotency-key": key} if key else {}
        try:
            answer = await self.service.request(method, path, json=json, headers=headers, timeout=_TIMEOUT)
        except TransportError as error:
            raise UnavailableError(f"the provider does not answer: {error}") from error
        if answer.status in _OK or (missing_ok and answer.status == _NOT_FOUND):
            return answer
        said = answer.body.decode("utf-8", "replace").strip()[:200]
        if answer.status in _REFUSALS and answer.status not in _NOT_NOW:
            raise RejectedError(said)
        raise UnavailableError(f"the provider answered {answer.status}: {said}")
