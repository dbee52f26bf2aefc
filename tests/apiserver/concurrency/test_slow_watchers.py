import asyncio
import json
import socket

from steersman.apiserver.server import ApiServer
from steersman.clock import RealClock
from steersman.protocol.http import Request
from steersman.serving.server import Server
from steersman.transport.config import ClusterConfig
from steersman.transport.http.transport import HttpTransport
from steersman.transport.in_memory import InMemoryTransport
from tests.apiserver.concurrency.clients import PATH, Watcher

UPDATES = 600
PADDING = "x" * 10_000


def _object(number: int) -> bytes:
    return json.dumps({"metadata": {"name": "key"}, "data": {"value": str(number), "padding": PADDING}}).encode()


async def _changes(reader: asyncio.StreamReader, count: int) -> list[int]:
    """Read that many events from a chunked response."""
    await reader.readuntil(b"\r\n\r\n")
    found: list[int] = []
    rest = b""
    while len(found) < count:
        size = int(await reader.readuntil(b"\r\n"), 16)
        *lines, rest = (rest + await reader.readexactly(size)).split(b"\n")
        await reader.readexactly(2)
        found += [int(json.loads(line)["object"]["data"]["value"]) for line in lines]
    return found


async def test_a_watcher_that_does_not_read_costs_little_and_blocks_no_other() -> None:
    """An operator under a debugger must not fill the server's memory, nor stop other operators."""
    clock = RealClock()
    api = ApiServer(clock=clock)
    async with Server(api, clock=clock) as server:
        writer = InMemoryTransport(api, clock=clock)
        other = HttpTransport(ClusterConfig(server=server.url), clock=clock)
        first = json.loads((await writer.request(Request("POST", PATH, {}, _object(-1)))).body)["metadata"]
        lazy_socket = socket.socket()
        lazy_socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
        lazy_socket.connect(("127.0.0.1", server.port))
        reader, lazy = await asyncio.open_connection(sock=lazy_socket, limit=4096)
        target = f"{PATH}?watch=true&resourceVersion={first['resourceVersion']}"
        lazy.write(f"GET {target} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
        diligent = Watcher(other, int(first["resourceVersion"]))
        last: list[int] = []
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(diligent.run(lambda version: bool(last) and version >= last[0]), name="diligent")
            most = 0
            for number in range(UPDATES):
                answer = await writer.request(Request("PUT", f"{PATH}/key", {}, _object(number)))
                assert answer.status == 200
                waiting = [connection._transport for connection in server._connections]
                most = max(most, *(one.get_write_buffer_size() for one in waiting if one is not None))
            last.append(int(json.loads(answer.body)["metadata"]["resourceVersion"]))
            # The watcher may have received the last event before it knew that it was the last.
            await writer.request(Request("PUT", f"{PATH}/key", {}, _object(UPDATES)))
        assert [change.value for change in diligent.changes][:UPDATES] == [str(number) for number in range(UPDATES)]
        assert most < 2 * server.limits.write_buffer, "what is not read waits in the history, which all share"
        assert await _changes(reader, UPDATES + 1) == list(range(UPDATES + 1)), "and is there when it is read at last"
        lazy.close()
        await other.close()
