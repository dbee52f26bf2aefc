"""`ProcessNode`: runs the pods that are placed on it as processes of this machine."""

import asyncio
import logging
import secrets
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from steersman.apiserver.server import ApiServer
from steersman.client.client import Client
from steersman.client.events import EventRecorder
from steersman.clock import Clock
from steersman.concurrency import background, cleanup, wait_ready
from steersman.errors import ConfigError, NotFound
from steersman.informer.changes import Added, Change, Deleted, Updated
from steersman.informer.informer import Informer
from steersman.kinds.coordination_v1 import Lease
from steersman.kinds.core_v1 import ConfigMap, Node, PersistentVolumeClaim, Pod, Secret, ServiceAccount
from steersman.localcluster.node_object import NodeDescription
from steersman.localcluster.node_presence import NodePresence
from steersman.localcluster.process_node.containers.images import Images
from steersman.localcluster.process_node.files.directory import NodeDirectory
from steersman.localcluster.process_node.inventory import CachedInventory
from steersman.localcluster.process_node.node_services import NodeServices, known_addresses
from steersman.localcluster.process_node.options import ProcessNodeOptions
from steersman.localcluster.process_node.pod_runner import PodRunner
from steersman.localcluster.process_node.processes.spawning import Processes
from steersman.localcluster.process_node.remote.pod_access import PodAccess
from steersman.manager.operator import Operator
from steersman.version import __version__

_log = logging.getLogger(__name__)
_IDENTITY = "identity.json"
#: Seconds before a pod that failed because of an error of the node is started again.
_PAUSE = 5.0


class ProcessNode:
    """A node of a cluster: it registers itself, and runs every pod whose ``nodeName`` is its own.

    Run it beside operators as ``node.operator``, or by itself with ``node.running(client, clock)``. Only programs that
    stand in its image map are ever executed.
    """

    def __init__(self, options: ProcessNodeOptions) -> None:
        self.options = options
        self.description = NodeDescription(name=options.name, runtime=f"process://{__version__}")
        self._images = Images(options.images, options.root)
        #: The pods that are here, by uid.
        self.pods: dict[str, PodRunner] = {}
        self._services: NodeServices | None = None
        self._tasks: asyncio.TaskGroup | None = None
        self._ready = asyncio.Event()

    def __repr__(self) -> str:
        return f"<ProcessNode {self.options.name} images={len(self._images)} pods={len(self.pods)}>"

    @property
    def operator(self) -> Operator:
        """The node as something that a manager runs beside operators."""
        operator = Operator(f"process-node-{self.options.name}")
        for kind in (ConfigMap, Secret, PersistentVolumeClaim):
            operator.permit(kind, "list", "watch")
        operator.permit(Pod, "get", "list", "watch", "patch", "delete")
        operator.permit(Pod, "patch", subresource="status")
        operator.permit(Node, "get", "create")
        operator.permit(Node, "patch", subresource="status")
        operator.permit(Lease, "create", "patch")
        operator.permit(ServiceAccount, "create", subresource="token")
        operator.background(self.run)
        return operator

    @asynccontextmanager
    async def running(self, client: Client, clock: Clock) -> AsyncIterator["ProcessNode"]:
        """Run the node inside the block, which begins when it accepts pods."""
        async with background(self.run(client, clock), name=f"node/{self.options.name}") as task:
            await wait_ready(self._ready.wait(), task)
            yield self

    async def run(self, client: Client, clock: Clock) -> None:
        """Run pods until cancelled. No process is left afterwards, however it ends."""
        self._check_addresses()
        directory = NodeDirectory(self.options.data)
        with directory.opened():
            mark = directory.read(_IDENTITY).get("mark") or secrets.token_hex(16)
            directory.keep(_IDENTITY, {"mark": mark})
            processes = Processes(directory, mark)
            async with processes.guarded():
                recorder = EventRecorder(client, controller="kubelet", instance=self.options.name, clock=clock)
                self._services = NodeServices(
                    options=self.options,
                    description=self.description,
                    client=client,
                    clock=clock,
                    directory=directory,
                    processes=processes,
                    images=self._images,
                    inventory=CachedInventory(client),
                    addresses=known_addresses(directory),
                    recorder=recorder,
                )
                try:
                    await self._work(self._services)
                finally:
                    self._services = None

    async def _work(self, services: NodeServices) -> None:
        presence = NodePresence(self.description, services.client, services.clock)
        pods = services.client.informer(Pod, field_selector=f"spec.nodeName={self.options.name}")
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(background(services.recorder.run(), name="events"))
            await stack.enter_async_context(services.inventory.followed(self._sources_changed))
            await presence.register()
            await stack.enter_async_context(background(presence.run(), name="presence"))
            await stack.enter_async_context(pods)
            services.directory.remove_pods_but({pod.uid for pod in pods.list()})
            services.directory.remove_claims_but({claim.uid for claim in services.inventory.claims.list()})
            services.inventory.claims.handle(
                deleted=lambda claim: services.directory.remove_claim(claim.namespace, claim.name, claim.uid)
            )
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                pods.add_handler(lambda change: self._saw(pods, change), name="pods")
                self._ready.set()
                try:
                    await asyncio.get_running_loop().create_future()
                finally:
                    await cleanup(self._stop_pods(), clock=services.clock, within=self.options.stop_seconds)
                    self._tasks = None
                    self._ready.clear()
                    self.pods.clear()

    # Pods come and go.

    def _saw(self, pods: Informer[Pod], change: Change) -> None:
        match change:
            case Added(record) | Updated(_, record):
                pod = pods.decode(record)
                runner = self.pods.get(pod.uid)
                if runner is None:
                    self._take_on(pod)
                else:
                    runner.saw(pod)
            case Deleted(record):
                gone = self.pods.get(record.uid)
                if gone is not None:
                    gone.gone()

    def _take_on(self, pod: Pod) -> None:
        if self._tasks is not None and self._services is not None:
            runner = self.pods[pod.uid] = PodRunner(pod, self._services)
            self._tasks.create_task(self._run(runner), name=f"pod/{pod.key}")

    async def _run(self, runner: PodRunner) -> None:
        """Run a pod to its end; restart it, without delaying others, if this node itself fails."""
        while True:
            try:
                await runner.run()
                break
            except Exception:  # noqa: BLE001 - a full disk, a defect here: told, and survived
                _log.exception("pod failed", extra={"pod": str(runner.pod.key)})
            services = self._running_shop
            await services.clock.sleep(_PAUSE)
            runner = self.pods[runner.pod.uid] = PodRunner(runner.pod, services)
        self.pods.pop(runner.pod.uid, None)

    async def _stop_pods(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for runner in self.pods.values():
                tasks.create_task(runner.stop(), name=f"stop/{runner.pod.key}")

    def _sources_changed(self, namespace: str) -> None:
        for runner in self.pods.values():
            if runner.pod.namespace == namespace:
                runner.sources_changed()

    # Requests of the API server.

    def serve(self, api: ApiServer) -> None:
        """Grant an API server in this process access to the logs, shells and ports of this node's pods."""
        api.nodes[self.options.name] = PodAccess(self)

    @property
    def clock(self) -> Clock:
        """The clock of the node; it has one while it runs."""
        return self._running_shop.clock

    @property
    def processes(self) -> Processes:
        """The processes of the node, while it runs."""
        return self._running_shop.processes

    @property
    def _running_shop(self) -> NodeServices:
        if self._services is None:
            raise RuntimeError(f"{self!r} does not run")
        return self._services

    def pod(self, name: str, namespace: str = "default") -> PodRunner:
        """Return a pod that is here; ``NotFound`` otherwise."""
        for runner in self.pods.values():
            if (runner.pod.name, runner.pod.namespace) == (name, namespace) and not runner.pod.is_deleting:
                return runner
        for runner in self.pods.values():
            if (runner.pod.name, runner.pod.namespace) == (name, namespace):
                return runner
        text = f'pod "{name}" of namespace {namespace} is not on node {self.options.name}'
        raise NotFound(text, code=404, reason="NotFound", kind="pods", name=name)

    def _check_addresses(self) -> None:
        """Check whether pods can have addresses: not every system has the whole loopback network."""
        with socket.socket() as probe:
            try:
                probe.bind(("127.1.0.1", 0))
            except OSError as error:
                raise ConfigError(
                    f"pods need addresses such as 127.1.0.1, and this machine does not have them ({error}): "
                    "on macOS add each with `sudo ifconfig lo0 alias 127.1.0.1`"
                ) from None
