"""The last line between a plan and a live cluster: it lets reads and dry runs pass, and nothing else."""

import pytest

from steersman.clock import RealClock
from steersman.objects.codec import decode_json
from steersman.planning.read_only import LiveWriteError, ReadOnlyTransport, as_dry_run, is_harmless
from steersman.protocol.http import Request
from steersman.testing import Cluster
from steersman.transport.in_memory import InMemoryTransport

_MAP = "/api/v1/namespaces/default/configmaps/a"
_DRY = b'{"dryRun":["All"]}'


@pytest.mark.parametrize(
    "request_",
    [
        Request("GET", _MAP),
        Request("HEAD", _MAP),
        Request("POST", f"{_MAP}?dryRun=All"),
        Request("PATCH", f"{_MAP}?fieldManager=a&dryRun=All&force=true"),
        Request("DELETE", f"{_MAP}?dryRun=All", {}, _DRY),
    ],
)
def test_reads_and_dry_runs_pass(request_: Request) -> None:
    """They change nothing."""
    assert is_harmless(request_)


@pytest.mark.parametrize(
    "request_",
    [
        Request("POST", _MAP),
        Request("PUT", f"{_MAP}?dryRun="),
        Request("PUT", f"{_MAP}?dryRun=None"),
        Request("PATCH", f"{_MAP}?fieldManager=dryRun=All"),
        Request("PATCH", f"{_MAP}?dryRun=All&dryRun=None"),
        Request("PATCH", f"{_MAP}#?dryRun=Al"),
        Request("DELETE", f"{_MAP}?dryRun=All"),
        Request("DELETE", f"{_MAP}?dryRun=All", {}, b'{"propagationPolicy":"Orphan"}'),
        Request("DELETE", f"{_MAP}?dryRun=All", {}, b"not JSON"),
        Request("DELETE", _MAP, {}, _DRY),
        Request("GET", f"{_MAP}/exec", {"upgrade": "websocket"}),
        Request("BREW", _MAP),
    ],
)
async def test_everything_else_is_rejected(cluster: Cluster, request_: Request) -> None:
    """A server reads the options of a delete from its body if it has one, whatever the query says."""
    transport = ReadOnlyTransport(InMemoryTransport(cluster.server, clock=RealClock()))
    version = cluster.server.objects.version
    with pytest.raises(LiveWriteError):
        await transport.request(request_)
    assert cluster.server.objects.version == version


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("body", [b"", b'{"preconditions":{"uid":"u"}}'])
@pytest.mark.parametrize("query", ["", "?fieldManager=a"])
def test_any_write_becomes_a_dry_run(method: str, body: bytes, query: str) -> None:
    """What a request asked for is kept."""
    dry = as_dry_run(Request(method, f"{_MAP}{query}", {"accept": "application/json"}, body))
    assert is_harmless(dry)
    assert query.removeprefix("?") in dry.target
    if body:
        assert decode_json(dry.body)["preconditions"] == {"uid": "u"}


async def test_nothing_is_upgraded(cluster: Cluster) -> None:
    """A command in a pod can do anything."""
    transport = ReadOnlyTransport(InMemoryTransport(cluster.server, clock=RealClock()))
    with pytest.raises(LiveWriteError, match="exec"):
        transport.upgrade(Request("GET", "/api/v1/namespaces/default/pods/a/exec"), protocol="websocket")
    with pytest.raises(LiveWriteError):
        transport.stream(Request("POST", _MAP))


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_write_through_a_proxy_is_never_harmless(method: str) -> None:
    """The server behind the proxy does not know dry runs."""
    target = "/api/v1/namespaces/default/services/db/proxy/drop?dryRun=All"
    assert not is_harmless(Request(method, target, {}, b'{"dryRun":["All"]}'))
