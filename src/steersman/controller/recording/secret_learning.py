"""`SecretLearningTransport`: learns the contents of Secrets that an operator reads or writes by its client.

``ctx.get`` and ``ctx.apply`` register the Secrets that they see with their run. Requests of ``ctx.client`` do not pass
there, so they are noticed here, on their way, before any text can quote them. What a Secret contains is read here only,
from objects, documents and patches.
"""

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterable, Iterator
from typing import Any

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
    """Return the values of the Secrets in a body."""
    try:
        document = decode_json(body)
    except DecodeError:
        return []
    return [value for _, value in secrets_in(document)]


def secrets_in(document: object) -> Iterator[tuple[str, bytes]]:
    """Yield the values of Secrets with their names, from an object, a list, a merge patch or a JSON patch."""
    if isinstance(document, list):
        for operation in document:
            if isinstance(operation, dict):
                yield from _patched(operation)
    elif isinstance(document, dict):
        items = document.get("items")
        for one in items if isinstance(items, list) else [document]:
            yield from _named_values_of(one)


def values_of(secret: object) -> Iterator[bytes]:
    """Yield the values of one Secret as a document; what is not one has none."""
    return (value for _, value in _named_values_of(secret))


def contents_of(secrets: Iterable[Any]) -> Iterator[tuple[str, bytes]]:
    """Yield the values of Secrets as objects, with their names."""
    for secret in secrets:
        yield from (secret.data or {}).items()
        for name, text in (secret.string_data or {}).items():
            yield name, _text_bytes(text)


def _named_values_of(secret: object) -> Iterator[tuple[str, bytes]]:
    if not isinstance(secret, dict):
        return
    for part in ("data", "stringData"):
        values = secret.get(part)
        for name, value in values.items() if isinstance(values, dict) else ():
            yield from _value(part, str(name), value)


def _patched(operation: JsonObject) -> Iterator[tuple[str, bytes]]:
    """Yield what an operation of a JSON patch sets: one value, all of them, or the whole object."""
    _, part, *rest = f"{operation.get('path', '')}/".split("/")
    value = operation.get("value")
    if part in ("data", "stringData"):
        yield from _value(part, rest[0], value) if rest and rest[0] else _named_values_of({part: value})
    else:
        yield from _named_values_of(value)


def _value(part: str, name: str, value: object) -> Iterator[tuple[str, bytes]]:
    if not isinstance(value, str):
        return
    try:
        yield name, b64decode(value) if part == "data" else _text_bytes(value)
    except (NotBase64, ValueError):
        return


def _text_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
