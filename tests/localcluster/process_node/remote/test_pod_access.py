"""Logs, commands and ports of pods: by our own client in the same process, and by kubectl over the network."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from steersman import meta
from steersman.apiserver.access.authentication import ADMIN
from steersman.apiserver.local import local_server
from steersman.client.client import Client
from steersman.client.interfaces import Ref
from steersman.clock import RealClock
from steersman.concurrency import background
from steersman.errors import BadRequest, ConnectionLost, Forbidden, InternalError, NotFound
from steersman.kinds.core_v1 import (
    Container,
    EmptyDirVolumeSource,
    EnvVar,
    EnvVarSource,
    ObjectFieldSelector,
    Pod,
    Volume,
    VolumeMount,
)
from steersman.kinds.rbac_v1 import PolicyRule, Role, RoleBinding, RoleRef, Subject
from steersman.localcluster.process_node.faults import PodFaults
from steersman.localcluster.process_node.node import ProcessNode
from steersman.localcluster.process_node.options import ProcessNodeOptions
from steersman.protocol.http import Request, Response
from steersman.protocol.options import LogOptions
from steersman.protocol.remote.remote_command import PROTOCOLS, Channel, message, read_end
from steersman.protocol.remote.websocket import WebSocket, request_headers
from steersman.testing.cluster import Cluster
from steersman.transport.in_memory import InMemoryTransport
from tests.localcluster.process_node.conftest import IDLE, IMAGES, StartNode, placed, script

KUBECTL = Path(sys.executable).with_name("kubectl")
POD_IP = EnvVar(name="POD_IP", value_from=EnvVarSource(field_ref=ObjectFieldSelector(field_path="status.podIP")))


@asynccontextmanager
async def running(cluster: Cluster, start_node: StartNode, *containers: Container) -> AsyncIterator[Pod]:
    """Return a pod whose containers run, on a node that serves the cluster's server."""
    async with start_node() as node:
        node.serve(cluster.server)
        pod = await cluster.client.create(placed("a", *containers))
        await cluster.client.wait_for(pod, lambda seen: seen.status.phase == "Running", timeout=5)
        yield pod


async def lines(cluster: Cluster, pod: Pod, options: LogOptions | None = None) -> list[str]:
    """Return the lines of the log."""
    return [line async for line in cluster.client.logs(pod, options)]


TALKS = (
    "import sys, time\nfor i in range(3): print('line', i, flush=True)\nsys.stderr.write('error\\n')\ntime.sleep(600)"
)


async def test_a_log_contains_the_output(cluster: Cluster, start_node: StartNode) -> None:
    """Both streams, the last lines, a number of bytes, with times."""
    async with running(cluster, start_node, script(TALKS)) as pod:
        await cluster.eventually(lambda: _has(cluster, pod, 4))
        assert sorted(await lines(cluster, pod)) == ["error", "line 0", "line 1", "line 2"]
        assert await lines(cluster, pod, LogOptions(tail_lines=0)) == []
        assert len(await lines(cluster, pod, LogOptions(tail_lines=2))) == 2
        assert await lines(cluster, pod, LogOptions(limit_bytes=4)) == ["line"]
        (first, *_) = await lines(cluster, pod, LogOptions(timestamps=True))
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z (line 0|error)", first)
        assert len(await lines(cluster, pod, LogOptions(since_seconds=3600))) == 4


async def _has(cluster: Cluster, pod: Pod, number: int) -> bool:
    return len(await lines(cluster, pod)) == number


async def test_a_followed_log_continues_until_the_container_ends(cluster: Cluster, start_node: StartNode) -> None:
    """Existing lines come first, no line is repeated, and the log ends with the container."""
    text = "import os; os.mkfifo('/data/go'); print('begun', flush=True); print('heard', open('/data/go').read())"
    container = script(text, volume_mounts=[VolumeMount(name="data", mount_path="/data")])
    async with start_node() as node:
        node.serve(cluster.server)
        pod = placed(
            "a",
            container,
            volumes=[Volume(name="data", empty_dir=EmptyDirVolumeSource())],
            restart_policy="Never",
        )
        pod = await cluster.client.create(pod)
        await cluster.client.wait_for(pod, lambda seen: seen.status.phase == "Running", timeout=5)
        heard = []
        async for line in cluster.client.logs(pod, LogOptions(follow=True)):
            heard.append(line)
            if line == "begun":
                await asyncio.to_thread(Path(node.pod("a").volume("data"), "go").write_text, "word")
        assert heard == ["begun", "heard word"]


async def test_the_log_of_the_previous_run_is_kept(cluster: Cluster, start_node: StartNode) -> None:
    """It shows why a container crashed."""
    async with running(cluster, start_node, script("import os; print(os.getpid(), flush=True);" + IDLE)) as pod:
        await cluster.eventually(lambda: _has(cluster, pod, 2))
        with pytest.raises(BadRequest, match='previous terminated container "main" in pod "a" not found'):
            await lines(cluster, pod, LogOptions(previous=True))
        before = await lines(cluster, pod)
        node = cluster.server.nodes["process"]._node  # type: ignore[attr-defined]  # the node that serves it
        PodFaults(node, "a").kill()
        await cluster.eventually(lambda: _is_restarted(cluster))
        await cluster.eventually(lambda: _has(cluster, pod, 2))
        assert await lines(cluster, pod, LogOptions(previous=True)) == before
        assert await lines(cluster, pod) != before


def _is_restarted(cluster: Cluster) -> bool:
    (pod,) = cluster.list(Pod)
    return any(status.restart_count == 1 and status.ready for status in pod.status.container_statuses or ())


async def test_a_container_that_has_not_started_has_no_log(cluster: Cluster, start_node: StartNode) -> None:
    """The error says what it waits for."""
    async with start_node() as node:
        node.serve(cluster.server)
        pod = await cluster.client.create(placed("a", Container(name="main", image="nginx")))
        await cluster.eventually(lambda: _is_waiting(cluster))
        with pytest.raises(BadRequest, match='container "main" in pod "a" is waiting to start: ErrImagePull'):
            await lines(cluster, pod)


def _is_waiting(cluster: Cluster) -> bool:
    (pod,) = cluster.list(Pod)
    return any(
        status.state and status.state.waiting and status.state.waiting.reason == "ErrImagePull"
        for status in pod.status.container_statuses or ()
    )


async def test_a_command_runs_inside_a_container(cluster: Cluster, start_node: StartNode) -> None:
    """With its variables and its programs; the exit code is part of the answer."""
    async with running(cluster, start_node, script(IDLE, env=[EnvVar(name="WORD", value="w")])) as pod:
        result = await cluster.client.exec(pod, ["sh", "-c", "echo $WORD; echo oops >&2; exit 7"])
        assert (result.exit_code, result.stdout, result.stderr) == (7, b"w\n", b"oops\n")


async def test_a_command_can_read_and_write_a_lot(cluster: Cluster, start_node: StartNode) -> None:
    """More than any buffer holds, in both directions at once."""
    much = bytes(range(256)) * 8192
    text = "import sys, shutil; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)"
    async with running(cluster, start_node, script(IDLE)) as pod:
        result = await cluster.client.exec(pod, ["python", "-I", "-S", "-c", text], stdin=much)
        assert result.exit_code == 0
        assert result.stdout == much


async def test_exec_does_not_run_programs_outside_of_the_image(cluster: Cluster, start_node: StartNode) -> None:
    """A user with exec permission may run what the author mapped, and nothing else."""
    async with running(cluster, start_node, script(IDLE)) as pod:
        with pytest.raises(InternalError, match='exec: "/bin/ls": executable file not found'):
            await cluster.client.exec(pod, ["/bin/ls"])


async def test_a_command_is_ended_when_its_caller_disconnects(cluster: Cluster, start_node: StartNode) -> None:
    """An interrupted test leaves nothing behind."""
    async with running(cluster, start_node, script(IDLE)) as pod:
        node = cluster.server.nodes["process"]._node  # type: ignore[attr-defined]  # the node that serves it
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await cluster.client.exec(pod, ["python", "-I", "-S", "-c", IDLE])
        await cluster.eventually(lambda: len(node.processes) == 1)


async def test_a_command_can_have_a_terminal(cluster: Cluster, start_node: StartNode) -> None:
    """`kubectl exec -it`: input is echoed, the size is known, and the command owns the terminal."""
    # It asks for the size after the line that was sent after the size.
    text = (
        "import os, sys; input(); print(os.isatty(0), os.get_terminal_size().columns, os.tcgetpgrp(0) == os.getpgrp())"
    )
    async with running(cluster, start_node, script(IDLE)):
        words = "".join(f"&command={quote(word)}" for word in ("python", "-I", "-S", "-c", text))
        target = f"/api/v1/namespaces/default/pods/a/exec?stdin=true&stdout=true&tty=true{words}"
        request = Request("GET", target, request_headers(b"0123456789abcdef", PROTOCOLS))
        async with cluster.transport.upgrade(request, protocol="websocket") as raw:
            assert not isinstance(raw, Response)
            socket = WebSocket(raw, is_client=True)
            socket.send(message(Channel.RESIZE, b'{"Width":97,"Height":30}'))
            socket.send(message(Channel.RESIZE, b"nonsense"))
            socket.send(message(Channel.STDIN, b"typed\r"))
            heard = b""
            while (got := await socket.receive()) is not None:
                if got[0] == Channel.ERROR:
                    assert read_end(got[1:]) == (0, "")
                else:
                    heard += got[1:]
        assert b"True 97 True" in heard
        assert b"typed" in heard


async def test_a_request_that_is_not_a_websocket_is_rejected_with_a_message(
    cluster: Cluster, start_node: StartNode
) -> None:
    """Old clients use SPDY, which is supported only inside a WebSocket."""
    async with running(cluster, start_node, script(IDLE)):
        for target, headers, why in (
            ("exec?command=sh", {}, b"Upgrade request required"),
            ("exec?command=sh", {"sec-websocket-key": "k", "sec-websocket-protocol": "v1"}, b"none of the protocols"),
            ("attach", {}, b"attach is not possible with pods of a process node"),
        ):
            request = Request("GET", f"/api/v1/namespaces/default/pods/a/{target}", headers)
            async with cluster.transport.upgrade(request, protocol="websocket") as answer:
                assert isinstance(answer, Response)
                assert why in answer.body


async def test_exec_needs_the_create_permission(cluster: Cluster, start_node: StartNode) -> None:
    """A user who may only get the subresource may not run anything, although a WebSocket is opened by a GET."""
    rules = [
        PolicyRule(api_groups=[""], resources=["pods", "pods/log"], verbs=["get"]),
        PolicyRule(api_groups=[""], resources=["pods/exec"], verbs=["get"]),
    ]
    await cluster.client.create(Role(meta("r", namespace="default"), rules=rules))
    reference = RoleRef(api_group="rbac.authorization.k8s.io", kind="Role", name="r")
    subjects = [Subject(kind="User", name="eve", api_group="rbac.authorization.k8s.io")]
    await cluster.client.create(RoleBinding(meta("b", namespace="default"), role_ref=reference, subjects=subjects))
    async with running(cluster, start_node, script(IDLE)) as pod:
        eve = cluster.client_as("eve")
        await cluster.eventually(lambda: _has(cluster, pod, 1))
        assert [line async for line in eve.logs(pod)] == ["up"]
        with pytest.raises(Forbidden, match='pods "a" is forbidden'):
            await eve.exec(pod, ["sh", "-c", "true"])
        with pytest.raises(Forbidden):
            await cluster.client_as("mallory").exec(pod, ["sh", "-c", "true"])


SERVER = """
import os, socket
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind((os.environ["POD_IP"], 8080))
server.listen()
print("listening", flush=True)
while True:
    connection, _ = server.accept()
    while data := connection.recv(65536):
        connection.sendall(data.upper())
    connection.close()
"""


async def test_a_port_of_a_pod_is_reached_through_the_server(cluster: Cluster, start_node: StartNode) -> None:
    """`steer why` reaches an operator that listens on loopback only, with the caller's own permissions."""
    async with running(cluster, start_node, script(SERVER, env=[POD_IP])) as pod:
        await cluster.eventually(lambda: _has(cluster, pod, 1))
        for text in (b"first", b"second" * 50_000):
            async with cluster.client.open_port(pod, 8080) as port, background(port.send(text), name="sender"):
                heard = b""
                while len(heard) < len(text):
                    heard += await port.receive()
            assert heard == text.upper()
        async with cluster.client.open_port(pod, 8081) as port:
            with pytest.raises(ConnectionLost, match="error forwarding port 8081 to pod a"):
                await port.receive()
        with pytest.raises(NotFound):
            async with cluster.client.open_port(Ref(Pod, "b"), 8080):
                pass


async def test_exec_reports_what_is_missing(cluster: Cluster, start_node: StartNode) -> None:
    """No pod, no container, no command."""
    async with running(cluster, start_node, script(IDLE)) as pod:
        with pytest.raises(BadRequest, match="container nobody is not valid for pod a"):
            await cluster.client.exec(pod, ["sh"], container="nobody")
        with pytest.raises(ValueError, match="a command must be named"):
            await cluster.client.exec(pod, [])
        pod.metadata.name = "b"
        with pytest.raises(NotFound):
            await cluster.client.exec(pod, ["sh"])


class Kubectl:
    """kubectl as users run it."""

    def __init__(self, kubeconfig: Path) -> None:
        self._environment = {"KUBECONFIG": str(kubeconfig), "HOME": str(kubeconfig.parent), "PATH": os.environ["PATH"]}

    async def start(self, *arguments: str) -> asyncio.subprocess.Process:
        """Start a command."""
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            str(KUBECTL), *arguments, env=self._environment, stdin=pipe, stdout=pipe, stderr=pipe
        )

    async def run(self, *arguments: str, stdin: bytes = b"") -> tuple[int | None, bytes, bytes]:
        """Run a command until it ends."""
        process = await self.start(*arguments)
        stdout, stderr = await process.communicate(stdin)
        return process.returncode, stdout, stderr


async def _line(process: asyncio.subprocess.Process) -> bytes:
    assert process.stdout is not None
    return await process.stdout.readline()


async def _ended(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
    await process.communicate()


@pytest.mark.skipif(not KUBECTL.exists(), reason="kubectl is not installed")
async def test_kubectl_follows_logs_runs_commands_copies_files_and_forwards_ports(tmp_path: Path) -> None:
    """One test for all, because kubectl is slow to start."""
    clock = RealClock()
    images = {
        **IMAGES,
        "python:*": {**IMAGES["python:*"], "programs": {**IMAGES["python:*"]["programs"], "tar": "tar"}},
    }
    node = ProcessNode(ProcessNodeOptions(images=images, data=tmp_path / "node"))
    async with local_server() as local:
        (tmp_path / "kubeconfig").write_bytes(local.access.kubeconfig())
        kubectl = Kubectl(tmp_path / "kubeconfig")
        client = Client(InMemoryTransport(local.api.acting_as(ADMIN), clock=clock), clock=clock)
        node.serve(local.api)
        async with node.running(client, clock):
            pod = await client.create(placed("a", script(SERVER, env=[POD_IP])))
            await client.wait_for(pod, lambda seen: seen.status.phase == "Running", timeout=5)

            following = await kubectl.start("logs", "-f", "a")
            assert await _line(following) == b"listening\n"
            await _ended(following)

            code, stdout, stderr = await kubectl.run("exec", "-i", "a", "--", "sh", "-c", "cat; exit 5", stdin=b"said")
            assert (code, stdout) == (5, b"said")
            assert stderr == b"command terminated with exit code 5\n"

            (tmp_path / "file").write_bytes(b"content")
            code, _, stderr = await kubectl.run("cp", str(tmp_path / "file"), f"a:{tmp_path}/copied")
            assert (code, stderr) == (0, b"")
            assert (tmp_path / "copied").read_bytes() == b"content"

            forwarding = await kubectl.start("port-forward", "pod/a", ":8080")
            port = int((await _line(forwarding)).split(b":")[1].split()[0])
            for text in (b"first", b"second" * 50_000):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(text)
                assert await reader.readexactly(len(text)) == text.upper()
                writer.close()
            await _ended(forwarding)
