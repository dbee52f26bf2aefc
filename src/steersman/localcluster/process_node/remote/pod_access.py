"""Answers for the API server what only a pod's node can: logs, commands inside, ports."""

from collections.abc import Awaitable
from datetime import timedelta
from typing import TYPE_CHECKING

from steersman.apiserver.messages.api_request import ApiRequest
from steersman.apiserver.messages.info import Query
from steersman.apiserver.status import Refusal, bad_request
from steersman.json_types import JsonObject
from steersman.localcluster.process_node.lifecycle.container_lifecycle import Stage
from steersman.localcluster.process_node.remote.exec_session import ExecRequest, ExecSession
from steersman.localcluster.process_node.remote.log_selection import LogSelection
from steersman.localcluster.process_node.remote.log_stream import LogStream
from steersman.localcluster.process_node.remote.port_forward import PROTOCOL, PortForward
from steersman.objects.times import parse_time
from steersman.protocol.http import Exchange
from steersman.protocol.remote.remote_command import PROTOCOLS
from steersman.protocol.remote.websocket import WebSocket, accept_headers, is_websocket, offered_protocols

if TYPE_CHECKING:
    from steersman.localcluster.process_node.node import ProcessNode
    from steersman.localcluster.process_node.pod_runner import PodRunner


class PodAccess:
    """Access to the pods of one node; the API server has authorized the request and found the pod."""

    def __init__(self, node: "ProcessNode") -> None:
        self._node = node

    def handle(self, part: str, pod: JsonObject, request: ApiRequest, exchange: Exchange) -> Awaitable[None] | None:
        """Handle a request to a subresource of a pod."""
        runner = self._node.pods.get(pod["metadata"]["uid"])
        if runner is None:
            raise Refusal(500, "InternalError", f"pod {pod['metadata']['name']} is not on its node yet, or no more")
        match part:
            case "log":
                return self._log(runner, request.query, exchange)
            case "exec":
                return self._exec(runner, request, exchange)
            case "portforward":
                return self._port_forward(runner, request, exchange)
            case _:
                text = f"{part} is not possible with pods of a process node: use kubectl logs -f, or kubectl exec"
                raise Refusal(501, "NotImplemented", text)

    def _log(self, runner: "PodRunner", query: Query, exchange: Exchange) -> Awaitable[None]:
        name = _container(runner, query)
        life, pod = runner.life.containers[name], runner.pod.name
        number = life.restarts
        if query.flag("previous"):
            number -= 1
            if number < 0 or not runner.logs_of(name).path(number).exists():
                raise bad_request(f'previous terminated container "{name}" in pod "{pod}" not found')
        elif life.stage is Stage.NEW:
            reason = (life.trouble.reason if life.trouble else "") or "ContainerCreating"
            raise bad_request(f'container "{name}" in pod "{pod}" is waiting to start: {reason}')
        run = runner.runs.get(name)
        is_followed = query.flag("follow") and not query.flag("previous")
        live = run.log if run is not None and is_followed else None
        stream = LogStream(exchange, self._selection(query))
        return stream.run(runner.logs_of(name).path(number), live)

    def _selection(self, query: Query) -> LogSelection:
        since = None
        if "sinceTime" in query:
            since = parse_time(query.text("sinceTime"))
        elif "sinceSeconds" in query:
            since = self._node.clock.now() - timedelta(seconds=int(query.text("sinceSeconds")))
        return LogSelection(
            tail=int(query.text("tailLines")) if "tailLines" in query else None,
            limit=int(query.text("limitBytes")) if "limitBytes" in query else None,
            since=since,
            timestamps=query.flag("timestamps"),
            stream=query.text("stream") or "All",
        )

    async def _exec(self, runner: "PodRunner", request: ApiRequest, exchange: Exchange) -> None:
        name, query = _container(runner, request.query), request.query
        run = runner.runs.get(name)
        if run is None:
            raise Refusal(500, "InternalError", f'container "{name}" of pod {runner.pod.name} does not run')
        command = ExecRequest(
            command=query.values.get("command", []),
            stdin=query.flag("stdin"),
            stdout=query.flag("stdout"),
            stderr=query.flag("stderr") and not query.flag("tty"),
            tty=query.flag("tty"),
        )
        socket = _upgrade(request, exchange, PROTOCOLS)
        await ExecSession(socket, command, self._node.clock).run(run.context, self._node.processes)

    async def _port_forward(self, runner: "PodRunner", request: ApiRequest, exchange: Exchange) -> None:
        socket = _upgrade(request, exchange, (PROTOCOL,))
        await PortForward(socket, runner.address, runner.pod.name).run()


def _container(runner: "PodRunner", query: Query) -> str:
    return query.text("container") or runner.pod.spec.containers[0].name


def _upgrade(request: ApiRequest, exchange: Exchange, protocols: tuple[str, ...]) -> WebSocket:
    headers = request.http.headers
    if not is_websocket(headers):
        raise bad_request("Upgrade request required: this server speaks WebSocket here, not SPDY")
    offered = offered_protocols(headers)
    spoken = next((protocol for protocol in protocols if protocol in offered), None)
    if spoken is None:
        raise bad_request(f"none of the protocols {offered} is spoken here: offer {', '.join(protocols)}")
    return WebSocket(exchange.upgrade(accept_headers(headers, spoken)), is_client=False)
