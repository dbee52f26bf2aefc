"""Conversion webhooks: programs outside that turn custom resources of one version into another.

A verb that needs an object in another version asks for it here. What was not converted yet for this request is waited
for (see ``waiting``), all objects of a list in one call; nothing is remembered beyond the request, because the program
outside may change its mind. Watches convert what they send on its way (`ConvertedStream`).
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from steersman.apiserver.status import Refusal, internal_error
from steersman.apiserver.webhook_calls.replay import Waits
from steersman.apiserver.webhook_calls.replies import document_of
from steersman.apiserver.webhook_calls.targets import CallFailed, WebhookOptions, target_of, url_of
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json, encode_json
from steersman.protocol.http import Stream
from steersman.randomness import Randomness

_API_VERSION = "apiextensions.k8s.io/v1"
_SECONDS = 30
#: What a webhook may change in the metadata of an object.
_FREE = ("labels", "annotations")
#: How many frames a watch may have waiting for their conversion.
_MOST_FRAMES = 1000


class Conversions:
    """Asks conversion webhooks on behalf of the request that is being served."""

    def __init__(self, options: WebhookOptions | None, randomness: Randomness) -> None:
        self._options = options
        self._randomness = randomness
        self._answers: dict[Any, Any] | None = None

    @contextmanager
    def replaying(self, answers: dict[Any, object] | None) -> Iterator[None]:
        """Use the replies that a request has got so far, and add new ones, inside the block."""
        self._answers = answers
        try:
            yield
        finally:
            self._answers = None

    def convert(self, config: JsonObject, objects: Sequence[JsonObject], api_version: str) -> list[JsonObject]:
        """Return objects in another version, or raise `Waits`."""
        answers = self._answers
        if answers is None:
            raise internal_error(
                f"objects of {api_version} are converted by a webhook, which cannot be waited for here"
            )
        keys = [_key(obj, api_version) for obj in objects]
        missing = {key: obj for key, obj in zip(keys, objects, strict=True) if key not in answers}
        if missing:
            raise Waits([lambda: self._ask(config, missing, api_version, answers)])
        return [_outcome(answers[key], obj) for key, obj in zip(keys, objects, strict=True)]

    async def _ask(
        self, config: JsonObject, missing: dict[Any, JsonObject], api_version: str, answers: dict[Any, object]
    ) -> None:
        try:
            converted: list[Any] = await self._call(config, list(missing.values()), api_version)
        except Refusal as refusal:
            converted = [refusal] * len(missing)
        answers.update(zip(missing, converted, strict=True))

    async def fetch(self, config: JsonObject, objects: Sequence[JsonObject], api_version: str) -> list[JsonObject]:
        """Return objects in another version; those that are in it already stay unchanged."""
        others = [obj for obj in objects if obj["apiVersion"] != api_version]
        made = iter(await self._call(config, others, api_version)) if others else iter(())
        return [obj if obj["apiVersion"] == api_version else _outcome(next(made), obj) for obj in objects]

    async def _call(self, config: JsonObject, objects: Sequence[JsonObject], api_version: str) -> list[bytes]:
        """Call a webhook once; give what it made of the objects, as bytes."""
        source = f"conversion webhook for {objects[0]['apiVersion']}, Kind={objects[0]['kind']}"
        uid = self._randomness.uid()
        request = {"uid": uid, "desiredAPIVersion": api_version, "objects": list(objects)}
        try:
            document = await self._post(config, request)
            converted = _checked_response(document, uid)
        except CallFailed as error:
            raise internal_error(f"{source} failed: {error}") from None
        if len(converted) != len(objects):
            raise internal_error(f"{source} returned {len(converted)} objects, expected {len(objects)}")
        for place, (before, after) in enumerate(zip(objects, converted, strict=True)):
            _check_object(source, place, before, after, api_version)
        return [encode_json(obj) for obj in converted]

    async def _post(self, config: JsonObject, request: JsonObject) -> JsonObject:
        suffix = f"?timeout={_SECONDS}s"
        shown = f"{url_of(config)}{suffix}"
        empty: JsonObject = {"uid": "", "convertedObjects": None, "result": {"metadata": {}}}
        review = {"kind": "ConversionReview", "apiVersion": _API_VERSION, "request": request, "response": empty}
        if self._options is None:
            raise CallFailed(f'Post "{shown}": this server was started without a way to call webhooks')
        try:
            target = target_of(config, self._options)
            target = replace(target, url=f"{target.url}{suffix}")
            reply = await self._options.caller(target, encode_json(review), float(_SECONDS))
        except CallFailed as error:
            raise CallFailed(f'Post "{shown}": {error}') from None
        return document_of(reply, "ConversionReview", _API_VERSION)


@dataclass(frozen=True, slots=True)
class Converter:
    """Converts the objects of one definition."""

    conversions: Conversions
    #: Where its webhook is.
    config: JsonObject

    def one(self, obj: JsonObject, api_version: str) -> JsonObject:
        """Return an object in another version."""
        if obj["apiVersion"] == api_version:
            return obj
        return self.conversions.convert(self.config, [obj], api_version)[0]

    def prepare(self, objects: Sequence[JsonObject], api_version: str) -> None:
        """Make sure that objects can be had in another version: in one call, whatever their number."""
        others = [obj for obj in objects if obj["apiVersion"] != api_version]
        if others:
            self.conversions.convert(self.config, others, api_version)

    async def fetch(self, objects: Sequence[JsonObject], api_version: str) -> list[JsonObject]:
        """Wait for objects in another version."""
        return await self.conversions.fetch(self.config, objects, api_version)


def _key(obj: JsonObject, api_version: str) -> tuple[str, bytes]:
    """Return what a conversion depends on: not the times and the managed fields."""
    metadata = obj["metadata"]
    kept = {name: metadata.get(name) for name in ("name", "namespace", "uid", *_FREE)}
    return api_version, encode_json({**obj, "metadata": kept})


def _outcome(answer: bytes | Refusal, obj: JsonObject) -> JsonObject:
    """Return a converted object with its former metadata: webhooks may change only labels and annotations."""
    if isinstance(answer, Refusal):
        raise answer
    made: JsonObject = decode_json(answer)
    given = made.get("metadata") or {}
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _FREE}
    metadata |= {key: given[key] for key in _FREE if given.get(key)}
    made["metadata"] = metadata
    return made


def _checked_response(document: JsonObject, uid: str) -> list[JsonObject]:
    response = document.get("response") or {}
    if response.get("uid") != uid:
        raise CallFailed(f'expected response.uid="{uid}", got "{response.get("uid", "")}"')
    result = response.get("result") or {}
    if result.get("status") != "Success":
        default = f"response.result.status was '{result.get('status', '')}', not 'Success'"
        raise CallFailed(str(result.get("message") or default))
    return list(response.get("convertedObjects") or ())


def _check_object(source: str, place: int, before: JsonObject, after: JsonObject, api_version: str) -> None:
    """Reject a converted object that is not the same object."""
    if after.get("apiVersion") != api_version:
        why = f"invalid groupVersion (expected {api_version}, received {after.get('apiVersion', '')})"
        raise internal_error(f"{source} returned invalid object at index {place}: {why}")
    if after.get("kind") != before["kind"]:
        why = f"invalid kind (expected {before['kind']}, received {after.get('kind', '')})"
        raise internal_error(f"{source} returned invalid object at index {place}: {why}")
    given = after.get("metadata") or {}
    for name, word in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        wanted, got = before["metadata"].get(name, ""), given.get(name, "")
        if wanted != got:
            raise internal_error(f"{source} returned invalid object: must have the same {word}: {wanted} != {got}")


class ConvertedStream:
    """A watch's stream whose objects are converted on their way; events keep their order."""

    def __init__(
        self,
        stream: Stream,
        fetch: Callable[[list[JsonObject]], Awaitable[list[JsonObject]]],
        shape: Callable[[JsonObject, bool], bytes],
    ) -> None:
        self._stream = stream
        self._fetch = fetch
        self._shape = shape
        self._frames: list[bytes] = []
        self._is_first = True
        self._is_ended = False
        self._news = asyncio.Event()
        self._when_writable: list[Callable[[], None]] = []
        stream.on_close(self._news.set)

    def write(self, chunk: bytes) -> None:
        """Take events, one in a line, to be converted and sent."""
        self._frames += chunk.splitlines()
        self._news.set()

    def close(self) -> None:
        """End the watch after what was taken."""
        self._is_ended = True
        self._news.set()

    def abort(self) -> None:
        """Break the connection."""
        self._stream.abort()

    @property
    def is_open(self) -> bool:
        """Whether the peer may still receive."""
        return self._stream.is_open and not self._is_ended

    @property
    def is_writable(self) -> bool:
        """Whether the peer, and the webhook, keep up."""
        return self._stream.is_writable and len(self._frames) < _MOST_FRAMES

    def on_writable(self, callback: Callable[[], None]) -> None:
        """Call back each time there is room again."""
        self._when_writable.append(callback)
        self._stream.on_writable(callback)

    def on_close(self, callback: Callable[[], None]) -> None:
        """Call back once when the peer is gone or the answer was ended."""
        self._stream.on_close(callback)

    async def run(self) -> None:
        """Convert and send until the watch ends."""
        while self._stream.is_open and not (self._is_ended and not self._frames):
            await self._news.wait()
            self._news.clear()
            frames, self._frames = self._frames, []
            try:
                await self._send([decode_json(line) for line in frames])
            except Refusal as refusal:
                self._stream.write(_frame("ERROR", encode_json(refusal.document())))
                break
            for callback in self._when_writable:
                callback()
        self._stream.close()

    async def _send(self, events: list[JsonObject]) -> None:
        objects = [event["object"] for event in events if event["type"] not in ("BOOKMARK", "ERROR")]
        converted = iter(await self._fetch(objects) if objects else ())
        chunks = []
        for event in events:
            if event["type"] in ("BOOKMARK", "ERROR"):
                chunks.append(_frame(event["type"], encode_json(event["object"])))
                continue
            chunks.append(_frame(event["type"], self._shape(next(converted), self._is_first)))
            self._is_first = False
        if chunks and self._stream.is_open:
            self._stream.write(b"".join(chunks))


def _frame(kind: str, body: bytes) -> bytes:
    return b'{"type":"' + kind.encode() + b'","object":' + body + b"}\n"
