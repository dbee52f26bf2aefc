"""Commands in pods of a simulated node."""

from steersman import meta
from steersman.client.interfaces import Ref
from steersman.kinds.core_v1 import Container, Pod, PodSpec
from steersman.protocol.remote.remote_command import ended
from steersman.protocol.remote.spdy import Accepted, Data, SpdyConnection
from steersman.simulation.binaries.simulated_pods import SimulatedPods, answer_streams
from steersman.testing.cluster import Cluster


class Wire:
    """One end of a connection whose peer has sent everything already."""

    def __init__(self, *received: bytes) -> None:
        self._received = list(received)
        self.sent = b""

    def write(self, data: bytes) -> None:
        """Store the bytes."""
        self.sent += data

    def close(self) -> None:
        """Do nothing."""

    async def drain(self) -> None:
        """Do nothing."""

    async def receive(self) -> bytes:
        """Return the next piece; empty at the end."""
        return self._received.pop(0) if self._received else b""


async def test_a_command_succeeds_over_spdy_without_output() -> None:
    """Older Go operators run commands in their pods over SPDY, and continue only if they succeed."""
    client = SpdyConnection()
    wire = Wire(client.open(1, {"streamtype": "error"}), client.open(3, {"streamtype": "stdout"}), client.ping(1))
    await answer_streams(wire, SpdyConnection(), 2)
    frames = client.receive(wire.sent)
    assert [frame.stream for frame in frames if isinstance(frame, Accepted)] == [1, 3]
    assert [frame for frame in frames if isinstance(frame, Data)] == [
        Data(1, ended(0), is_end=True),
        Data(3, b"", is_end=True),
    ]


async def test_a_command_succeeds_over_a_websocket_without_output() -> None:
    """Clients of today use WebSockets; our own is one."""
    async with Cluster.start() as cluster:
        cluster.server.nodes["simulated"] = SimulatedPods()
        pod = Pod(meta("a"), spec=PodSpec(node_name="simulated", containers=[Container(name="main", image="x")]))
        await cluster.client.create(pod)
        result = await cluster.client.exec(Ref(Pod, "a"), ["true"])
        assert (result.exit_code, result.stdout) == (0, b"")
