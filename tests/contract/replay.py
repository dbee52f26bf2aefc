"""Replays recorded sequences on an embedded API server and reports the differences."""

import gzip
import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import yaml

from steersman.apiserver.background.controllers import ControllerOptions
from steersman.apiserver.resources.request_context import User
from steersman.apiserver.server import ApiServer
from steersman.concurrency import background
from steersman.protocol.http import Request
from steersman.randomness import Randomness
from steersman.testing.fake_clock import FakeClock
from steersman.transport.in_memory import InMemoryTransport
from tests.contract.comparison import Comparison
from tests.contract.ignored import is_ignored
from tests.contract.recordings import Sequence, Step, during_steps
from tests.contract.renaming import Renaming

#: A version in an object, or in a JSON patch.
_VERSION_IN_BODY = re.compile(r'("resourceVersion":\s*"|"/metadata/resourceVersion",\s*"value":\s*")(\d+)"')
ADMIN = User("admin", ("system:masters", "system:authenticated"), "admin")


@dataclass(slots=True)
class Result:
    """An answer of the embedded server, in the format of the recordings."""

    status: int
    warnings: list[str]
    response: Any
    headers: dict[str, str]
    raw: str


class Replay:
    """One sequence on a fresh server."""

    def __init__(self, sequence: Sequence) -> None:
        self._sequence = sequence
        self._clock = FakeClock()
        self.server = ApiServer(
            clock=self._clock,
            randomness=Randomness(7),
            tokens={"admin-token": ADMIN},
            controllers=ControllerOptions(root_certificate=b"PEM") if sequence.needs_controllers else None,
        )
        self._transport = InMemoryTransport(self.server, clock=self._clock)
        self._renaming = Renaming()
        self._results: dict[str, Result] = {}

    async def run(self) -> dict[str, list[str]]:
        """Replay all steps; return the differences of each step that has any."""
        found: dict[str, list[str]] = {}
        for index, step in enumerate(self._sequence.setup):
            result = await self._play(step, f"s{index}")
            if result.status >= 400 and result.status != 409:  # a shared CRD may exist already
                found[f"setup {index} {step.case}"] = [f"status {result.status}: {result.response}"]
            elif step.response is not None:
                self._compare(step, result)
        for index, step in enumerate(self._sequence.steps):
            result = await self._play(step, str(index))
            if differences := self._compare(step, result):
                found[f"{index} {step.case}"] = differences
        await self._transport.close()
        return found

    async def _play(self, step: Step, key: str) -> Result:
        if step.delay:
            await self._clock.advance(step.delay)
        request = self._request(step)
        is_watch = step.is_watch or (step.method == "GET" and "watch=" in step.path and step.status == 200)
        result = await self._watch(request, step) if is_watch else await self._send(request)
        if is_watch and not step.is_watch:
            # Read as one answer: a single event is a document, several are not JSON.
            result.response = _parsed(result.raw, "application/json")
        self._results[key] = result
        await self.server.settle()
        return result

    def _request(self, step: Step) -> Request:
        path, headers = self._renaming.translate(step.path), dict(step.headers)
        document = json.loads(json.dumps(step.document)) if step.uses and step.document is not None else None
        for place, source in step.uses.items():
            value = self._used(source)
            if place.startswith("query:"):
                path = _with_query(path, place.removeprefix("query:"), str(value))
            elif place.startswith("header:"):
                name = place.removeprefix("header:").lower()
                headers[name] = f"Bearer {value}" if name == "authorization" else str(value)
            elif document is not None:
                document = _set_pointer(document, place, value)
        body = step.body if document is None else json.dumps(document).encode()
        headers.setdefault("authorization", "Bearer admin-token")
        if step.anonymous:
            headers.pop("authorization", None)
        return Request(step.method, path, headers, self._translated(body))

    def _translated(self, body: bytes) -> bytes:
        if len(body) > 100_000:
            return body
        try:
            text = self._renaming.translate(body.decode())
            return re.sub(_VERSION_IN_BODY, self._version, text).encode()
        except UnicodeDecodeError:
            return body

    def _version(self, match: re.Match[str]) -> str:
        return f'{match[1]}{self._renaming.translated_version(match[2]) or match[2]}"'

    def _used(self, source: str) -> Any:
        key, _, place = source.partition(":")
        result = self._results[key]
        if place.startswith("header:"):
            return result.headers.get(place.removeprefix("header:").lower(), "")
        value = result.response
        for part in [piece for piece in place.split("/") if piece]:
            part = part.replace("~1", "/").replace("~0", "~")
            if isinstance(value, list):
                value = value[int(part)] if int(part) < len(value) else None
            elif isinstance(value, dict):
                value = value.get(part)
            else:
                return None
        return value

    async def _send(self, request: Request) -> Result:
        response = await self._transport._request(request, None)
        headers = dict(response.headers)
        body = gzip.decompress(response.body) if headers.get("content-encoding") == "gzip" else response.body
        text = body.decode("utf-8", "replace")
        return Result(
            response.status,
            [_warning_text(value) for value in response.header_values("warning")],
            _parsed(text, headers.get("content-type", "")),
            headers,
            text,
        )

    async def _watch(self, request: Request, step: Step) -> Result:
        chunks: list[bytes] = []
        async with self._transport.stream(request, idle=None) as stream:
            if stream.status != 200:
                body = await stream.read()
                return Result(stream.status, [], _parsed(body.decode(), "application/json"), {}, body.decode())

            async def collect() -> None:
                async for chunk in stream:
                    chunks.append(chunk)  # noqa: PERF401 - what came before the end of the watch must not be lost

            async with background(collect(), name="collect events"):
                await self._clock.settle()
                for write in during_steps(step):
                    await self._send(self._request(write))
                await self._clock.settle()
                if "timeoutSeconds" in request.target:
                    await self._clock.advance(step.seconds + 1)
        text = b"".join(chunks).decode()
        return Result(200, [], [json.loads(line) for line in text.splitlines() if line.strip()], {}, text)

    def _compare(self, step: Step, result: Result) -> list[str]:
        comparison = Comparison(self._renaming, one_second=self._sequence.one_second)
        differences = []
        if step.status and step.status != result.status:
            differences.append(f"status: recorded {step.status}, got {result.status}: {str(result.response)[:300]}")
        if step.warnings is not None:
            wanted = sorted(_warning_text(text) for text in step.warnings)
            if wanted != sorted(result.warnings):
                differences.append(f"warnings: recorded {wanted}, got {sorted(result.warnings)}")
        if step.response is not None:
            recorded, actual = step.response, result.response
            if "yaml" in result.headers.get("content-type", "") and isinstance(recorded, str):
                recorded, actual = yaml.safe_load(recorded), yaml.safe_load(result.raw)
                recorded, actual = (
                    json.loads(json.dumps(recorded, default=_moment)),
                    json.loads(json.dumps(actual, default=_moment)),
                )
            differences += comparison.differences(recorded, actual)
        return [text for text in differences if not is_ignored(self._sequence.name, step, text)]


def _moment(value: Any) -> str:
    """Return a time that the YAML reader parsed as text again."""
    return value.strftime("%Y-%m-%dT%H:%M:%SZ")


def _warning_text(value: str) -> str:
    match = re.fullmatch(r'299 - "(.*)"', value, re.DOTALL)
    return re.sub(r"\\(.)", r"\1", match[1]) if match else value


def _parsed(text: str, media: str) -> Any:
    if "yaml" in media:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _with_query(path: str, name: str, value: str) -> str:
    return re.sub(rf"([?&]{re.escape(name)}=)[^&]*", lambda match: match[1] + quote(value, safe=""), path)


def _set_pointer(document: Any, pointer: str, value: Any) -> Any:
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    here = document
    for part in parts[:-1]:
        here = here[int(part)] if isinstance(here, list) else here[part]
    if isinstance(here, list):
        here[int(parts[-1])] = value
    else:
        here[parts[-1]] = value
    return document
