"""Client of the provider's API. A network is found there by the uid of its object.

A rejection (4xx) is final until a user changes the object; all other errors are retried.
"""

import os
from dataclasses import dataclass

from steersman import Model, SteersmanError
from steersman.errors import TransportError
from steersman.objects import decode_as, encode_json
from steersman.protocol import Request, Response
from steersman.transport import HttpService

#: Address of the provider.
URL = os.environ.get("NEUTRON_URL", "http://neutron:9696")

#: Seconds to wait for a response.
_TIMEOUT = 10.0
_OK, _NOT_FOUND, _REJECTIONS = range(200, 300), 404, range(400, 500)
#: Status codes of rejections that are temporary.
_TEMPORARY = (408, 425, 429)


class RejectedError(SteersmanError):
    """The provider rejected a request; a retry cannot help."""


class UnavailableError(SteersmanError):
    """A request failed; a retry may help."""


class Wanted(Model):
    """The wanted network."""

    uid: str
    cidr: str
    gateway: str


class Provided(Model):
    """An existing network of the provider."""

    id: str
    cidr: str
    gateway: str


class _Networks(Model):
    networks: list[Provided]


def planned_answer(request: Request) -> Response:
    """Return what the provider answers to a write that `steer plan` does not make: the network, with an unknown id."""
    if request.method == "DELETE":
        return Response(204)
    wanted = decode_as(Wanted, request.body)
    provided = Provided(id="unknown until it is made", cidr=wanted.cidr, gateway=wanted.gateway)
    return Response(200, [("content-type", "application/json")], encode_json(provided))


@dataclass(frozen=True)
class Provider:
    """Sends requests to the provider."""

    service: HttpService

    async def find(self, uid: str) -> Provided | None:
        """Return the network of an object, if it exists."""
        response = await self._call("GET", f"/v2.0/networks?uid={uid}")
        found = decode_as(_Networks, response.body).networks
        return found[0] if found else None

    async def create(self, wanted: Wanted) -> Provided:
        """Create a network; a repeated request creates no second one."""
        response = await self._call("POST", "/v2.0/networks", json=wanted, key=wanted.uid)
        return decode_as(Provided, response.body)

    async def update(self, provided: Provided, wanted: Wanted) -> Provided:
        """Change a network."""
        response = await self._call("PUT", f"/v2.0/networks/{provided.id}", json=wanted)
        return decode_as(Provided, response.body)

    async def delete(self, provided: Provided) -> None:
        """Delete a network; do nothing if it does not exist."""
        await self._call("DELETE", f"/v2.0/networks/{provided.id}", missing_ok=True)

    async def _call(
        self, method: str, path: str, *, json: Wanted | None = None, key: str = "", missing_ok: bool = False
    ) -> Response:
        headers = {"idempotency-key": key} if key else {}
        try:
            response = await self.service.request(method, path, json=json, headers=headers, timeout=_TIMEOUT)
        except TransportError as error:
            raise UnavailableError(f"the provider does not respond: {error}") from error
        if response.status in _OK or (missing_ok and response.status == _NOT_FOUND):
            return response
        message = response.body.decode("utf-8", "replace").strip()[:200]
        if response.status in _REJECTIONS and response.status not in _TEMPORARY:
            raise RejectedError(message)
        raise UnavailableError(f"the provider responded with {response.status}: {message}")
