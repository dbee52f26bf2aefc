import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from steersman.clock import RealClock
from steersman.errors import ConfigError, ConnectionFailed
from steersman.protocol.http import Request
from steersman.testing.fake_clock import FakeClock
from steersman.transport.auth.exec_credentials import ExecCredentials, find_program, read_output
from steersman.transport.auth.exec_plugin import API_VERSIONS, ExecPlugin, PluginPolicy
from steersman.transport.auth.secret import Secret
from tests.support.peer import OK, PeerConnection, answer, answering, outcome, scripted, until
from tests.transport.conftest import Connect

V1 = API_VERSIONS[0]


def _script(folder: Path, body: str) -> Path:
    path = folder / "plugin"
    path.write_text(f"#!{sys.executable}\nimport json, os, sys\n{body}\n")
    path.chmod(0o755)
    return path


def _output(api_version: str = V1, **status: Any) -> bytes:
    return json.dumps({"apiVersion": api_version, "kind": "ExecCredential", "status": status}).encode()


def _counting(folder: Path, **status: Any) -> Path:
    """Return a plugin whose token contains how often it ran."""
    return _script(
        folder,
        f"""
runs = {str(folder / "runs")!r}
with open(runs, "a") as file: file.write("x")
status = dict({status!r}, token="token-" + str(os.path.getsize(runs)))
print(json.dumps({{"apiVersion": {V1!r}, "kind": "ExecCredential", "status": status}}))""",
    )


def _token(value: object) -> str:
    return value.authorization.reveal()  # type: ignore[attr-defined, no-any-return] # an identity with a token


async def test_a_plugin_gets_the_cluster_and_runs_once(tmp_path: Path) -> None:
    """The input is the contract with every plugin; the output is cached while it is valid."""
    path = _script(
        tmp_path,
        f"""
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
token = json.dumps([info, os.environ["EXTRA"], sys.argv[1:], sys.stdin.read()])
print(json.dumps({{"apiVersion": {V1!r}, "kind": "ExecCredential", "status": {{"token": token}}}}))""",
    )
    plugin = ExecPlugin(
        command=str(path),
        args=("a b", "$HOME"),
        env={"EXTRA": Secret("e")},
        api_version=V1,
        cluster={"server": "https://x"},
    )
    credentials = ExecCredentials(plugin, clock=RealClock())
    assert credentials.current() is None
    identity = await credentials.obtain()
    spec = {"interactive": False, "cluster": {"server": "https://x"}}
    told = {"apiVersion": V1, "kind": "ExecCredential", "spec": spec}
    assert json.loads(_token(identity).removeprefix("Bearer ")) == [told, "e", ["a b", "$HOME"], ""]
    assert credentials.current() is identity


async def test_many_waiting_callers_cause_one_run(tmp_path: Path) -> None:
    """At the start every informer needs credentials at once; a plugin may open a browser."""
    credentials = ExecCredentials(ExecPlugin(command=str(_counting(tmp_path)), api_version=V1), clock=RealClock())
    async with asyncio.TaskGroup() as tasks:
        calls = [tasks.create_task(credentials.obtain()) for _ in range(5)]
    assert {_token(call.result()) for call in calls} == {"Bearer token-1"}


async def test_many_waiting_callers_share_one_failure(tmp_path: Path) -> None:
    """A failing plugin is not run once per caller."""
    path = _script(tmp_path, f"open({str(tmp_path / 'runs')!r}, 'a').write('x'); sys.exit(3)")
    credentials = ExecCredentials(ExecPlugin(command=str(path), api_version=V1), clock=RealClock())
    async with asyncio.TaskGroup() as tasks:
        calls = [tasks.create_task(outcome(credentials.obtain())) for _ in range(5)]
    assert {str(call.result()).partition("(")[2] for call in calls} == {"3); run it by hand to see why"}
    assert (tmp_path / "runs").read_text() == "x"


async def test_an_expiring_identity_is_fetched_again_in_time(tmp_path: Path) -> None:
    """A token must not expire while a request is sent."""
    clock = FakeClock()
    path = _counting(tmp_path, expirationTimestamp="2030-01-01T00:10:00Z")
    credentials = ExecCredentials(ExecPlugin(command=str(path), api_version=V1), clock=clock)
    first = await credentials.obtain()
    await clock.advance(589)
    assert credentials.current() is first
    await clock.advance(2)
    assert credentials.current() is None


async def test_a_rejected_identity_is_fetched_again_for_the_same_request(connected: Connect, tmp_path: Path) -> None:
    """Tokens can be revoked before they expire."""
    seen = []

    async def script(connection: PeerConnection) -> None:
        while data := await connection.request():
            seen.append(data.partition(b"authorization: ")[2].partition(b"\r\n")[0])
            await connection.send(OK if len(seen) > 1 else answer(401))

    plugin = ExecPlugin(command=str(_counting(tmp_path)), api_version=V1)
    async with scripted(script) as peer, connected(peer.url, authentication=plugin) as transport:
        assert (await transport.request(Request("GET", "/"))).status == 200
    assert seen == [b"Bearer token-1", b"Bearer token-2"]


async def test_a_plugin_that_is_always_rejected_runs_twice(connected: Connect, tmp_path: Path) -> None:
    """A user without access must get the 401, not an endless login."""

    async def refuse(connection: PeerConnection) -> None:
        while await connection.request():
            await connection.send(answer(401))

    plugin = ExecPlugin(command=str(_counting(tmp_path)), api_version=V1)
    async with scripted(refuse) as peer, connected(peer.url, authentication=plugin) as transport:
        assert (await transport.request(Request("GET", "/"))).status == 401
        assert (tmp_path / "runs").read_text() == "xx"
        async with transport.stream(Request("GET", "/")) as stream:
            assert stream.status == 401


async def test_a_failing_plugin_is_a_failed_connection(connected: Connect, tmp_path: Path) -> None:
    """Callers that wait for a server to come back also wait for its login service."""
    plugin = ExecPlugin(command=str(_script(tmp_path, "sys.exit(1)")), api_version=V1)
    async with scripted(answering(OK)) as peer, connected(peer.url, authentication=plugin) as transport:
        with pytest.raises(ConnectionFailed, match="no credentials"):
            await transport.request(Request("GET", "/"))
    assert peer.connections == 0


async def test_a_plugin_that_hangs_is_killed_with_its_helpers(tmp_path: Path) -> None:
    """A login page that is not visible must not block an operator, nor leave processes behind."""
    pids = tmp_path / "pids"
    path = _script(
        tmp_path,
        f"""
import subprocess, time
child = subprocess.Popen(["sleep", "1000"])
open({str(pids)!r}, "w").write(f"{{os.getpid()}} {{child.pid}} ")
time.sleep(1000)""",
    )
    clock = FakeClock()
    credentials = ExecCredentials(ExecPlugin(command=str(path), api_version=V1), clock=clock)
    async with asyncio.TaskGroup() as tasks:
        call = tasks.create_task(outcome(credentials.obtain()))
        await until(lambda: pids.exists() and pids.read_text().endswith(" "))
        await clock.advance(60)
    assert "did not finish within 60 s" in str(call.result())
    for pid in pids.read_text().split():
        await until(lambda pid=pid: not _is_running(int(pid)))


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


async def test_a_cancelled_request_leaves_no_plugin_behind(tmp_path: Path) -> None:
    """Ctrl-C during a login ends the login."""
    pids = tmp_path / "pids"
    path = _script(tmp_path, f"import time\nopen({str(pids)!r}, 'w').write(str(os.getpid()) + ' ')\ntime.sleep(1000)")
    credentials = ExecCredentials(ExecPlugin(command=str(path), api_version=V1), clock=RealClock())
    async with asyncio.TaskGroup() as tasks:
        call = tasks.create_task(credentials.obtain())
        await until(lambda: pids.exists() and pids.read_text().endswith(" "))
        call.cancel()
    assert not _is_running(int(pids.read_text()))


async def test_endless_output_is_cut_off(tmp_path: Path) -> None:
    """Memory is bounded whatever a plugin prints."""
    path = _script(tmp_path, "while True: sys.stdout.write('canary' * 10000)")
    credentials = ExecCredentials(ExecPlugin(command=str(path), api_version=V1), clock=RealClock())
    with pytest.raises(ConfigError, match="printed too much"):
        await credentials.obtain()


@pytest.mark.parametrize(
    "output",
    [
        b"canary",
        b'{"canary": 1}',
        _output("client.authentication.k8s.io/v1beta1", token="canary"),
        _output(),
        _output(token=""),
        _output(clientCertificateData="canary"),
        _output(token="canary", expirationTimestamp="2030-01-01T00:00:00"),
        b'{"apiVersion": "client.authentication.k8s.io/v1", "kind": "Other", "status": {"token": "canary"}}',
    ],
    ids=["text", "other JSON", "other version", "empty status", "empty token", "half a pair", "no zone", "other kind"],
)
def test_invalid_output_is_rejected_and_never_quoted(output: bytes) -> None:
    """The output may contain a token even if it is invalid."""
    plugin = ExecPlugin(command="plugin", api_version=V1, origin="/kc: user 'u': exec")
    with pytest.raises(ConfigError, match=r"^/kc: user 'u': exec: plugin ") as caught:
        read_output(plugin, output)
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("api_version", API_VERSIONS)
def test_both_versions_of_the_protocol_are_supported(api_version: str) -> None:
    """Many cloud providers still write v1beta1."""
    plugin = ExecPlugin(command="plugin", api_version=api_version)
    issued = read_output(plugin, _output(api_version, token="t", clientCertificateData="c", clientKeyData="k"))
    assert _token(issued.identity) == "Bearer t"
    assert issued.identity.certificate is not None


def test_an_unknown_version_is_rejected() -> None:
    """v1alpha1 was removed; a silent guess would fail later and elsewhere."""
    with pytest.raises(ConfigError, match="v1alpha1"):
        ExecPlugin(command="plugin", api_version="client.authentication.k8s.io/v1alpha1")


@pytest.mark.parametrize(
    ("policy", "is_allowed"),
    [
        (PluginPolicy.allow_all(), True),
        (PluginPolicy.deny_all(), False),
        (PluginPolicy.allow("plugin"), True),
        (PluginPolicy.allow("other"), False),
        (PluginPolicy.allow("/opt/bin/plugin"), False),
    ],
)
def test_the_policy_decides_what_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: PluginPolicy, is_allowed: bool
) -> None:
    """A kubeconfig from elsewhere is code from elsewhere."""
    _script(tmp_path, "pass")
    monkeypatch.setenv("PATH", str(tmp_path))
    plugin = ExecPlugin(command="plugin", api_version=V1, policy=policy)
    if is_allowed:
        assert find_program(plugin) == str(tmp_path / "plugin")
    else:
        with pytest.raises(ConfigError, match="policy does not allow"):
            find_program(plugin)


def test_an_allowed_name_does_not_allow_another_file_of_that_name(tmp_path: Path) -> None:
    """A path in a kubeconfig must be allowed as a path."""
    path = str(_script(tmp_path, "pass"))
    with pytest.raises(ConfigError, match="policy"):
        find_program(ExecPlugin(command=path, api_version=V1, policy=PluginPolicy.allow("plugin")))
    assert find_program(ExecPlugin(command=path, api_version=V1, policy=PluginPolicy.allow(path))) == path


def test_a_program_in_the_current_directory_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Working in an unpacked archive must not run a program in it."""
    _script(tmp_path, "pass")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join([".", ""]))
    with pytest.raises(ConfigError, match=r"current directory|not installed"):
        find_program(ExecPlugin(command="plugin", api_version=V1))


def test_a_missing_program_is_explained() -> None:
    """The kubeconfig says how to install it."""
    plugin = ExecPlugin(command="no-such-plugin", api_version=V1, install_hint="brew install it")
    with pytest.raises(ConfigError, match="'no-such-plugin' is not installed: brew install it"):
        find_program(plugin)
