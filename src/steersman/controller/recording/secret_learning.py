"""`SecretLearningTransport`: learns the contents of Secrets that an operator reads or writes by its client.

``ctx.get`` and ``ctx.apply`` register the Secrets that they see with their run. Requests of ``ctx.client`` do not pass
there, so they are noticed here, on their way, before any text can quote them.
"""

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterator

from steersman.errors import DecodeError
from steersman.history.redaction import SecretMemory
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json
from steersman.protocol.http import Request, Response
from steersman.transport.base import DEFAULT_TIMEOUT, Transport
from steersman.transport.wrapper import TransportWrapper

_COLLECTION = "/secrets"


class SecretLearningTransport(TransportWrapper):
    """Sends requests by another transport, and learns the values of Secrets in them and in their answers."""

    def __init__(self, inner: Transport, memory: SecretMemory) -> None:
        super().__init__(inner)
        self._memory = memory

    async def request(self, request: Request, *, timeout: float | None = DEFAULT_TIMEOUT) -> Response:  # noqa: ASYNC109 - the signature of Transport
        """Send a request; most are not about Secrets and are only looked at by their path."""
        if _COLLECTION not in request.target:
            return await self._inner.request(request, timeout=timeout)
        self._memory.learn(secret_values(request.body))
        response = await self._inner.request(request, timeout=timeout)
        self._memory.learn(secret_values(response.body))
        return response


def secret_values(body: bytes) -> list[bytes]:
    """Return the values of the Secrets in a body: an object, a list, a merge patch or a JSON patch."""
    try:
        document = decode_json(body)
    except DecodeError:
        return []
    if isinstance(document, list):
        return [value for operation in document if isinstance(operation, dict) for value in _patched(operation)]
    if not isinstance(document, dict):
        return []
    items = document.get("items")
    return [value for one in (items if isinstance(items, list) else [document]) for value in values_of(one)]


def values_of(secret: object) -> Iterator[bytes]:
    """Yield the values of one Secret; nothing for any other document."""
    if not isinstance(secret, dict):
        return
    for part in ("data", "stringData"):
        values = secret.get(part)
        for value in values.values() if isinstance(values, dict) else ():
            yield from _value(part, value)


def _patched(operation: JsonObject) -> Iterator[bytes]:
    """Yield what an operation of a JSON patch sets: one value, all of them, or the whole object."""
    _, part, *rest = f"{operation.get('path', '')}/".split("/")
    value = operation.get("value")
    if part in ("data", "stringData"):
        yield from _value(part, value) if rest and rest[0] else values_of({part: value})
    else:
        yield from values_of(value)


def _value(part: str, value: object) -> Iterator[bytes]:
    if not isinstance(value, str):
        return
    try:
        yield b64decode(value) if part == "data" else value.encode("utf-8", "surrogatepass")
    except (NotBase64, ValueError):
        return
