"""Runs one pod: carries out the actions of its life cycle, reports their results, and writes the status."""

import asyncio
import contextlib
from collections.abc import Coroutine, Sequence
from typing import Any, assert_never

from steersman.errors import ApiError, TransportError
from steersman.informer.wakeup import Wakeup
from steersman.kinds.core_v1 import Container, Pod
from steersman.localcluster.container_report import PodReport
from steersman.localcluster.pod_status import pod_status
from steersman.localcluster.process_node.containers.container_context import ContainerContext
from steersman.localcluster.process_node.containers.container_run import ContainerRun, RunLogs, execute
from steersman.localcluster.process_node.containers.downward import NodeFacts
from steersman.localcluster.process_node.containers.environment import environment
from steersman.localcluster.process_node.containers.prober import Prober
from steersman.localcluster.process_node.containers.problem import ImageError, StartError
from steersman.localcluster.process_node.files.volumes import PodVolumes
from steersman.localcluster.process_node.lifecycle.actions import (
    Action,
    EmitEvent,
    RunHook,
    RunProbe,
    SendSignal,
    Start,
)
from steersman.localcluster.process_node.lifecycle.container_lifecycle import Stage
from steersman.localcluster.process_node.lifecycle.instant import Instant
from steersman.localcluster.process_node.lifecycle.pod_lifecycle import PodLifecycle
from steersman.localcluster.process_node.lifecycle.probe_watch import ProbeKind
from steersman.localcluster.process_node.node_services import NodeServices
from steersman.localcluster.process_node.pod_tokens import PodTokens
from steersman.localcluster.process_node.processes.spawning import base_environment
from steersman.localcluster.process_node.status_writer import StatusWriter
from steersman.protocol.options import DeleteOptions, Preconditions

#: Seconds before a write or a start is tried again.
_AGAIN, _CONFIG_AGAIN, _IMAGE_AGAIN = 1.0, 2.0, 10.0
#: Seconds that a pod has left which was deleted without any grace.
_FORCED = 1.0


class PodRunner:
    """One pod of a node, from its binding to its removal."""

    def __init__(self, pod: Pod, services: NodeServices) -> None:
        self._services = services
        self._writer = StatusWriter(pod, services.client)
        self.address = services.address_of(pod)
        self._directory = services.directory.pod(pod)
        self._around = NodeFacts(self.address, services.description.address, services.description.capacity)
        self.life = self._begin(pod)
        #: Containers that run.
        self.runs: dict[str, ContainerRun] = {}
        self._children: set[asyncio.Task[None]] = set()
        self._probes: dict[str, list[asyncio.Task[None]]] = {}
        self._tokens = PodTokens(services.client, services.clock)
        #: Labels and annotations of which volumes were written.
        self._described = (pod.labels, pod.annotations)
        #: The address that the pod is about to get, when all of it has ended.
        self._address_wanted = ""
        #: The grace of the deletion that was heeded last.
        self._grace: float | None = None
        #: Whether the node itself is being stopped: nothing is started or written any more.
        self._is_frozen = False
        self._wakeup = Wakeup()
        self._tasks: asyncio.TaskGroup | None = None

    def _begin(self, pod: Pod) -> PodLifecycle:
        now = Instant.now(self._services.clock)
        since = pod.status.start_time or now.wall
        begun = Instant(now.at - (now.wall - since).total_seconds(), since)
        return PodLifecycle(pod, begun, restart_seconds=self._services.options.restart_seconds)

    # Notifications and requests.

    @property
    def pod(self) -> Pod:
        """The last known state of the pod."""
        return self._writer.pod

    def saw(self, pod: Pod) -> None:
        """Note that the pod changed."""
        self._writer.saw(pod)
        self._wakeup.set()

    def gone(self) -> None:
        """Note that the API no longer has the pod."""
        self._writer.is_gone = True
        self._wakeup.set()

    def sources_changed(self) -> None:
        """Note that something changed that the pod may refer to: retry, and update volumes."""
        now = self._services.clock.monotonic()
        for life in self.life.containers.values():
            if life.stage is Stage.NEW and life.trouble is not None:
                life.due = now
        for run in self.runs.values():
            self._refresh_volumes(run)
        self._wakeup.set()

    def _refresh_volumes(self, run: ContainerRun) -> None:
        container = run.context.container
        # Content stays unchanged when the new state is impossible, as in a kubelet.
        with contextlib.suppress(StartError):
            self._volumes().refresh(container, run.context.mounts, self._tokens.of(container.name))

    def logs_of(self, container: str) -> RunLogs:
        """Return where the logs of a container are."""
        return RunLogs(self._directory.container(container))

    def volume(self, name: str) -> str:
        """Return the directory of a volume of the pod."""
        return str(self._volumes().root_of(name))

    def change_address(self) -> str:
        """Restart everything under another address, as if the pod's network had been lost, and return that."""
        self._services.give_back_address(self.pod, for_good=True)
        self._address_wanted = self._services.address_of(self.pod)
        for run in self.runs.values():
            run.process.signal("SIGKILL")
        self._wakeup.set()
        return self._address_wanted

    # Life.

    async def run(self) -> None:
        """Run the pod until it is removed; cancelling ends its processes and leaves its object unchanged."""
        try:
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                while not await self._step():
                    pass
                for task in list(self._children):
                    task.cancel()  # probes and hooks of containers that have ended
        finally:
            for run in self.runs.values():
                run.close()
        await self._remove()

    async def _step(self) -> bool:
        """Carry out the current actions and wait for news; return whether the pod is removed."""
        clock = self._services.clock
        if self._is_frozen:
            await self._wakeup.wait()
            return False
        if self._address_wanted and not await self._move():
            return False
        self._follow_changes()
        self._heed_deletion()
        for action in [] if self.life.was_over else self.life.decide(clock.monotonic()):
            self._do(action)
        is_over = self.life.is_over
        is_written = await self._write_status()
        if is_over and is_written and (self.pod.is_deleting or self._writer.is_gone):
            return True
        for container in await self._tokens.renew(self.pod, [run.context.container for run in self.runs.values()]):
            if container.name in self.runs:
                self._refresh_volumes(self.runs[container.name])
        wakes = [] if self.life.was_over else [self.life.wakes_at(clock.monotonic()), self._tokens.due(self.runs)]
        due = min((at for at in wakes if at is not None), default=None)
        seconds = None if due is None else max(due - clock.monotonic(), 0.0)
        if not is_written:
            seconds = min(_AGAIN, seconds) if seconds is not None else _AGAIN
        await self._wakeup.wait(clock, seconds)
        return False

    async def _move(self) -> bool:
        """Restart the pod with another address when its containers have stopped; return whether it was restarted."""
        if self.runs:
            await self._wakeup.wait()
            return False
        self.address, self._address_wanted = self._address_wanted, ""
        self._around = NodeFacts(self.address, self._around.host_ip, self._around.capacity)
        await self._write_status()
        self.life = self._begin(self.pod)
        return True

    def _follow_changes(self) -> None:
        """Apply what can change in a running pod: its deadline, and labels and annotations that it mounts."""
        self.life.follow(self.pod)
        if (described := (self.pod.labels, self.pod.annotations)) != self._described:
            self._described = described
            for run in self.runs.values():
                self._refresh_volumes(run)

    def _heed_deletion(self) -> None:
        grace: float | None = None
        if self._writer.is_gone:
            grace = _FORCED
        elif self.pod.is_deleting:
            grace = max(float(self.pod.metadata.deletion_grace_period_seconds or 0), _FORCED)
        if grace is not None and grace != self._grace:
            self._grace = grace
            self.life.ask_to_stop(self._services.clock.monotonic(), grace)

    async def _write_status(self) -> bool:
        if self.life.was_over:
            return True
        now = Instant.now(self._services.clock)
        report = PodReport(
            containers=self.life.reports(now.at),
            started_at=self.life.begun.wall,
            host_ip=self._around.host_ip,
            pod_ip=self.address,
            is_over=self.life.is_over,
            failure=self.life.failure,
            message=self.life.message,
        )
        return await self._writer.write(pod_status(self.pod, report, now.wall))

    async def _remove(self) -> None:
        self._directory.remove()
        self._services.give_back_address(self.pod)
        if not self._writer.is_gone:
            options = DeleteOptions(grace_period_seconds=0, preconditions=Preconditions(uid=self.pod.uid))
            with contextlib.suppress(ApiError, TransportError):
                await self._services.client.delete(self.pod, options=options, missing_ok=True)

    async def stop(self) -> None:
        """Stop all containers, because the node itself is stopped; they have some seconds."""
        self._is_frozen = True
        for run in self.runs.values():
            run.process.signal("SIGTERM")
        for run in list(self.runs.values()):
            await run.process.wait()

    # Actions.

    def _do(self, action: Action) -> None:
        match action:
            case Start(name):
                self._spawn(self._run_container(self._container(name)), name)
            case RunProbe(name, kind, timeout):
                asking = self._spawn(self._ask(name, kind, timeout), f"{name}/{kind.value}")
                self._probes[name] = [task for task in self._probes.get(name, ()) if not task.done()] + [asking]
            case RunHook(name, hook):
                self._spawn(self._run_hook(name, hook), f"{name}/{hook}")
            case SendSignal(name, signal):
                if name in self.runs:
                    self.runs[name].process.signal(signal)
            case EmitEvent(reason, note, is_warning):
                self._services.recorder.record(self.pod, "Warning" if is_warning else "Normal", reason, note)
            case _:
                assert_never(action)

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        if self._tasks is None:
            raise RuntimeError(f"pod {self.pod.key} does not run")
        task = self._tasks.create_task(work, name=f"{self.pod.key}/{name}")
        self._children.add(task)
        task.add_done_callback(self._children.discard)
        return task

    def _tell(self, actions: list[Action]) -> None:
        for action in actions:
            self._do(action)
        self._wakeup.set()

    def _container(self, name: str) -> Container:
        return self.life.containers[name].spec

    async def _run_container(self, container: Container) -> None:
        life = self.life.containers[container.name]
        try:
            run = await self._start(container)
        except StartError as error:
            again = _IMAGE_AGAIN if isinstance(error, ImageError) else _CONFIG_AGAIN
            life.start_failed(self._services.clock.monotonic(), error.reason, str(error), again)
            self._tell([EmitEvent(error.event, f"Error: {error}", is_warning=True)])
            return
        self.runs[container.name] = run
        number = life.restarts
        life.started(
            Instant.now(self._services.clock),
            f"process://{self.pod.uid}/{container.name}/{number}",
            container.image or "",
        )
        self._tell([EmitEvent("Started", f"Container started as process {run.process.pid}")])
        code = await run.wait()
        del self.runs[container.name]
        for task in self._probes.pop(container.name, ()):
            task.cancel()
        message = run.last_words(code, self._volumes().termination_log(container))
        self._tell(self.life.exited(container.name, Instant.now(self._services.clock), code, message))

    async def _start(self, container: Container) -> ContainerRun:
        try:
            context = await self.context_of(container)
            log = self.logs_of(container.name).begin(self.life.containers[container.name].restarts)
            self._volumes().termination_log(container).write_bytes(b"")
            return await ContainerRun.start(context, self._services.processes, log, self._services.clock)
        except OSError as error:  # a full disk, a file where a directory should be
            raise StartError(f"container {container.name} gets no place on this machine: {error}") from None

    async def context_of(self, container: Container) -> ContainerContext:
        """Return what the container's processes see; raise ``StartError`` if something is missing."""
        pod = self.pod
        image = self._services.images.find(container.image or "")
        variables = environment(pod, container, self._services.inventory, self._around)
        home = self._directory.container(container.name) / "home"
        home.mkdir(mode=0o700, exist_ok=True)
        tokens = await self._tokens.request(pod, container)
        mounts = self._volumes().mount(container, variables, tokens)
        return ContainerContext(
            container=container,
            image=image,
            base=base_environment(home, pod.spec.hostname or pod.name),
            variables=variables,
            mounts=mounts,
            home=home,
        )

    def _volumes(self) -> PodVolumes:
        return PodVolumes(
            pod=self.pod,
            directory=self._directory,
            node=self._services.directory,
            inventory=self._services.inventory,
            facts=self._around,
        )

    def _prober(self, name: str) -> Prober:
        container, run = self._container(name), self.runs[name]

        async def inside(command: Sequence[str]) -> tuple[int, str]:
            return await execute(run.context, self._services.processes, command, self._services.clock)

        return Prober(container, self.address, inside, self._services.clock)

    async def _ask(self, name: str, kind: ProbeKind, timeout: float) -> None:  # noqa: ASYNC109 - as in `Prober`
        container = self._container(name)
        probes = {
            ProbeKind.STARTUP: container.startup_probe,
            ProbeKind.LIVENESS: container.liveness_probe,
            ProbeKind.READINESS: container.readiness_probe,
        }
        probe = probes[kind]
        if probe is None or name not in self.runs:
            return
        why = await self._prober(name).ask(probe, timeout)
        now = self._services.clock.monotonic()
        self._tell(self.life.probed(name, kind, now, is_success=not why, why=why))

    async def _run_hook(self, name: str, hook: str) -> None:
        lifecycle = self._container(name).lifecycle
        if lifecycle is None or name not in self.runs:
            return
        handler = lifecycle.pre_stop if hook == "preStop" else lifecycle.post_start
        failure = "" if handler is None else await self._prober(name).run(handler)
        self._tell(self.life.hook_done(name, hook, self._services.clock.monotonic(), failure=failure))
