"""Asks probes and runs hooks: a command inside, an HTTP request, a connection, a pause."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Sequence

from steersman.clock import Clock
from steersman.kinds.core_v1 import Container, HTTPGetAction, LifecycleHandler, Probe
from steersman.localcluster.process_node.containers.problem import StartError
from steersman.objects.int_or_string import IntOrString

#: Runs a command inside a container; returns its exit code and output.
Execute = Callable[[Sequence[str]], Awaitable[tuple[int, str]]]
_OK, _REDIRECTED_TOO_FAR = 200, 400


class Prober:
    """Asks about one container of a pod."""

    def __init__(self, container: Container, address: str, execute: Execute, clock: Clock) -> None:
        self._container = container
        self._address = address
        self._execute = execute
        self._clock = clock

    async def ask(self, probe: Probe, timeout: float) -> str:  # noqa: ASYNC109 - it is measured by the injected clock
        """Run a probe; return what is wrong, empty if it succeeded."""
        if probe.grpc is not None:
            return "a process node does not support gRPC probes: use exec, httpGet or tcpSocket"
        return await self.run(
            LifecycleHandler(exec=probe.exec, http_get=probe.http_get, tcp_socket=probe.tcp_socket), timeout
        )

    async def run(self, handler: LifecycleHandler, timeout: float | None = None) -> str:  # noqa: ASYNC109 - as above
        """Run a handler; return what went wrong, empty if it succeeded."""
        try:
            async with self._clock.timeout(timeout):
                return await self._do(handler)
        except TimeoutError:
            return f"no answer within {timeout:g}s"
        except (OSError, StartError) as error:
            return str(error) or type(error).__name__

    async def _do(self, handler: LifecycleHandler) -> str:
        if handler.exec is not None:
            code, text = await self._execute(handler.exec.command or ())
            return "" if code == 0 else text.strip() or f"exit code {code}"
        if handler.http_get is not None:
            return await self._get(handler.http_get)
        if handler.tcp_socket is not None:
            host = handler.tcp_socket.host or self._address
            _, writer = await asyncio.open_connection(host, self._port(handler.tcp_socket.port))
            writer.close()
        if handler.sleep is not None:
            await self._clock.sleep(handler.sleep.seconds)
        return ""

    async def _get(self, action: HTTPGetAction) -> str:
        host, port = action.host or self._address, self._port(action.port)
        tls = None
        if action.scheme == "HTTPS":
            tls = ssl.create_default_context()
            # As a kubelet does: a probe checks that a server responds, not which one.
            tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        reader, writer = await asyncio.open_connection(host, port, ssl=tls)
        try:
            path = "/" + (action.path or "").lstrip("/")
            headers = {"Host": f"{host}:{port}", "User-Agent": "kube-probe/steersman", "Accept": "*/*"}
            headers |= {header.name: header.value for header in action.http_headers or ()}
            lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
            writer.write("\r\n".join([*lines, "Connection: close", "", ""]).encode())
            head = await reader.readuntil(b"\r\n")
            status = int(head.split()[1])
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, IndexError, ValueError):
            return f"http://{host}:{port}{action.path or '/'} did not answer in HTTP"
        finally:
            writer.close()
        return "" if _OK <= status < _REDIRECTED_TOO_FAR else f"HTTP probe failed with statuscode: {status}"

    def _port(self, port: IntOrString) -> int:
        if isinstance(port, int):
            return port
        named = {item.name: item.container_port for item in self._container.ports or ()}
        if port not in named:
            raise OSError(f"container {self._container.name} has no port named {port}")
        return named[port]
