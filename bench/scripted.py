"""A server of any number of widgets that stores none: it writes lists, watch lists and updates as they are read.

Objects are about 2.7 KB with their managedFields. Their text is made of words and differs between objects, so that it
compresses as configuration does, not as padding does.
"""

import asyncio
import json
import random
import sys
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

from steersman.clock import RealClock
from steersman.protocol.http import Exchange, Request, Response, Stream
from steersman.serving.server import Listen, Server

#: Updates a second, once a watch has sent the existing objects.
UPDATES_A_SECOND = 500
_JSON = [("content-type", "application/json")]
_WORDS = tuple(
    "replica image registry volume mount path secret config probe port service cluster region tenant quota limit zone "  # noqa: SIM905 - a list is 30 lines
    "backup restore schedule policy retention endpoint certificate issuer rotation route timeout".split()
)
_LINES, _NOTES, _AT_ONCE = 4096, 19, 50
#: Identifies the end of the initial objects of a watch.
_INITIAL_END = '"annotations":{"k8s.io/initial-events-end":"true"},'


class Widgets:
    """Writes the JSON of widget number n at a version."""

    def __init__(self) -> None:
        source = random.Random(1)  # noqa: S311 - the same text in every run
        self._lines = [json.dumps(" ".join(source.choice(_WORDS) for _ in range(12))[:74]) for _ in range(_LINES)]
        fields = {f"f:field{n}": {} for n in range(20)}
        entry = {"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": fields}}
        managed = [{"manager": who, **entry} for who in ("kubectl", "operator")]
        self._managed = json.dumps(managed, separators=(",", ":"))

    def json(self, number: int, version: int) -> str:
        """Return one object."""
        first = number * 7919 + version
        notes = ",".join(self._lines[(first + index * 31) % _LINES] for index in range(_NOTES))
        return (
            '{"apiVersion":"bench.example.com/v1","kind":"Widget","metadata":{"creationTimestamp":"2030-01-01T00:00:00Z",'
            f'"generation":{version % 7 + 1},"labels":{{"app":"app-{number % 10}"}},"managedFields":{self._managed},'
            f'"name":"widget-{number:06d}","namespace":"ns-{number % 20}","resourceVersion":"{version}",'
            f'"uid":"{number * 2654435761 % 2**32:08x}-{number % 65536:04x}-4000-8000-{number * 40503:012x}"}},'
            f'"spec":{{"color":"red","replicas":{number},"notes":[{notes}]}},'
            f'"status":{{"observedGeneration":{version % 7 + 1},"ready":{number},"phase":"Ready"}}}}'
        )


class ScriptedServer:
    """Serves the widgets 0 to count - 1, whose versions are 1000 + their number, and then updates of some of them."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._widgets = Widgets()
        self._version = 1000 + count
        self._streams: list[Stream] = []

    def handle(self, request: Request, exchange: Exchange) -> None:
        """Respond to a list, page by page, or to a watch."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(request.target).query).items()}
        if query.get("watch") in ("true", "1"):
            self._watch(exchange.stream(200, _JSON), is_initial=query.get("sendInitialEvents") == "true")
            return
        first = int(query.get("continue", "0"))
        last = min(first + int(query.get("limit", self._count)), self._count)
        following = f'"continue":"{last}",' if last < self._count else ""
        items = ",".join(self._widgets.json(number, 1000 + number) for number in range(first, last))
        head = '{"kind":"WidgetList","apiVersion":"bench.example.com/v1","metadata":{'
        body = f'{head}{following}"resourceVersion":"{self._version}"}},"items":[{items}]}}'
        exchange.respond(Response(200, _JSON, body.encode()))

    def _watch(self, stream: Stream, *, is_initial: bool) -> None:
        self._streams.append(stream)
        chunks = self._initial() if is_initial else iter(())
        loop = asyncio.get_running_loop()

        def pump() -> None:
            while stream.is_open and stream.is_writable:
                chunk = next(chunks, None)
                if chunk is None:
                    stream.on_writable(lambda: None)
                    loop.call_later(1.0, self._update, stream, 0)
                    return
                stream.write(chunk)

        stream.on_writable(pump)
        pump()

    def _initial(self) -> Iterator[bytes]:
        for first in range(0, self._count, _AT_ONCE):
            numbers = range(first, min(first + _AT_ONCE, self._count))
            yield "".join(self._event("ADDED", number, 1000 + number) for number in numbers).encode()
        version = f'"metadata":{{{_INITIAL_END}"resourceVersion":"{self._version}","creationTimestamp":null}}'
        bookmark = f'{{"apiVersion":"bench.example.com/v1","kind":"Widget",{version},"spec":{{}}}}'
        yield f'{{"type":"BOOKMARK","object":{bookmark}}}\n'.encode()

    def _event(self, kind: str, number: int, version: int) -> str:
        return f'{{"type":"{kind}","object":{self._widgets.json(number, version)}}}\n'

    def _update(self, stream: Stream, done: int) -> None:
        """Send a tenth of a second's updates, and continue until the reader is gone."""
        if not stream.is_open:
            return
        more = UPDATES_A_SECOND // 10
        events = []
        for index in range(done, done + more):
            self._version += 1
            events.append(self._event("MODIFIED", index * 97 % self._count, self._version))
        stream.write("".join(events).encode())
        asyncio.get_running_loop().call_later(0.1, self._update, stream, done + more)


async def serve(count: int) -> None:
    """Serve until killed; print the port first."""
    async with Server(ScriptedServer(count), clock=RealClock(), listen=Listen()) as server:
        print(server.port, flush=True)
        await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
