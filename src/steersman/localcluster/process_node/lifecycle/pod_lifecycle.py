"""The life cycle of a pod on its node as rules: what to start, probe and stop now, and when to decide again. Pure.

Init containers run one after another, sidecars start among them and keep running; then all containers run. A pod that
is deleted, or has exceeded its deadline, is stopped: containers first, then sidecars, the last one first.
"""

from steersman.kinds.core_v1 import Container, ContainerStateTerminated, ContainerStatus, Pod
from steersman.localcluster.container_report import ContainerReport, Terminated
from steersman.localcluster.pod_conditions import is_sidecar
from steersman.localcluster.process_node.lifecycle.actions import Action, EmitEvent, Start
from steersman.localcluster.process_node.lifecycle.container_lifecycle import ContainerLifecycle, Role, Stage
from steersman.localcluster.process_node.lifecycle.instant import Instant
from steersman.localcluster.process_node.lifecycle.probe_watch import ProbeKind
from steersman.localcluster.process_node.lifecycle.restart_backoff import RestartBackoff

_GRACE = 30
#: Message of a kubelet about a container that ran when the node itself was stopped.
_LOST = Terminated(137, reason="ContainerStatusUnknown", message="the node was stopped while the container ran")


class PodLifecycle:
    """One pod on its node."""

    def __init__(self, pod: Pod, begun: Instant, *, restart_seconds: float = 10.0) -> None:
        self._pod = pod
        self._policy = pod.spec.restart_policy or "Always"
        self._restart_seconds = restart_seconds
        #: When a node took it on; it keeps that time when the node is started again.
        self.begun = begun
        #: Why it failed as a whole.
        self.failure = self.message = ""
        #: Whether it was over before: what has succeeded or failed is never run again.
        self.was_over = pod.status.phase in ("Succeeded", "Failed")
        #: When the last of it is killed; ``None`` while it shall live.
        self._stop_by: float | None = None
        self.containers: dict[str, ContainerLifecycle] = {}
        for container in pod.spec.init_containers or ():
            self._add(container, Role.SIDECAR if is_sidecar(container) else Role.STEP)
        for container in pod.spec.containers:
            self._add(container, Role.MAIN)
        for status in (*(pod.status.init_container_statuses or ()), *(pod.status.container_statuses or ())):
            self._restore(status)

    def _add(self, container: Container, role: Role) -> None:
        label = f"{self._pod.name}_{self._pod.namespace}({self._pod.uid})"
        backoff = RestartBackoff(self._restart_seconds)
        self.containers[container.name] = ContainerLifecycle(container, role, label, backoff)

    def _restore(self, status: ContainerStatus) -> None:
        """Continue the counts of an earlier node from the status."""
        life = self.containers.get(status.name)
        state = status.state
        if life is None or state is None:
            return
        if state.terminated is not None:
            life.restore(status.restart_count, _ended(state.terminated))
        elif state.running is not None:
            life.restore(status.restart_count, _LOST)
        elif status.last_state is not None and status.last_state.terminated is not None:
            life.restore(status.restart_count, _ended(status.last_state.terminated))

    # What happened.

    def follow(self, pod: Pod) -> None:
        """Note that the pod changed: its deadline can be set or shortened while it runs."""
        self._pod = pod

    def ask_to_stop(self, now: float, grace: float) -> None:
        """Stop the pod, because it is being deleted. Another call can only shorten the grace period."""
        stop_by = now + grace
        self._stop_by = stop_by if self._stop_by is None else min(self._stop_by, stop_by)
        for life in self.containers.values():
            if life.is_stopping:
                life.stop(now, self._stop_by - now)

    def exited(self, name: str, instant: Instant, exit_code: int, message: str = "") -> list[Action]:
        """Note that a container ended."""
        life = self.containers[name]
        life.exited(instant, exit_code, message)
        if self._is_restarted(life) and life.due > instant.at:
            note = f"Back-off restarting failed container {name} in pod {life.pod}"
            return [EmitEvent("BackOff", note, is_warning=True)]
        return []

    def probed(self, name: str, kind: ProbeKind, now: float, *, is_success: bool, why: str = "") -> list[Action]:
        """Handle the result of a probe."""
        return self.containers[name].probed(kind, now, self._grace, is_success=is_success, why=why)

    def hook_done(self, name: str, hook: str, now: float, *, failure: str = "") -> list[Action]:
        """Handle the result of a hook."""
        return self.containers[name].hook_done(hook, now, self._grace, failure=failure)

    # What follows from it.

    @property
    def is_stopping(self) -> bool:
        """Whether the pod shall end."""
        return self._stop_by is not None

    @property
    def is_finished(self) -> bool:
        """Whether its work is done or has failed for good."""
        if self.was_over:
            return True
        if any(life.role is Role.STEP and self._has_failed(life) for life in self.containers.values()):
            return True
        mains = [life for life in self.containers.values() if life.role is Role.MAIN]
        return all(life.stage is Stage.ENDED and not life.wants_restart(self._policy) for life in mains)

    @property
    def is_over(self) -> bool:
        """Whether nothing of it runs, nor will run again."""
        return (self.is_stopping or self.is_finished) and all(life.is_gone for life in self.containers.values())

    def decide(self, now: float) -> list[Action]:
        """Return the actions to carry out now; each is returned once."""
        self._check_deadline(now)
        actions: list[Action] = []
        if self.is_stopping or self.is_finished:
            actions += self._stop(now)
        else:
            for life in self._to_start():
                if life.is_gone and now >= life.due and (life.end is None or life.wants_restart(self._policy)):
                    life.starting(now)
                    actions.append(Start(life.spec.name))
        for life in self.containers.values():
            actions += life.actions(now)
        return actions

    def wakes_at(self, now: float) -> float | None:
        """Return when to decide again if nothing happens before."""
        times = [at for life in self.containers.values() for at in life.wakes_at()]
        if not self.is_stopping:
            times += [life.due for life in self._to_start() if life.is_gone and life.due > now]
            if self._deadline is not None and not self.is_finished:
                times.append(self._deadline)
        return min(times, default=None)

    def reports(self, now: float) -> dict[str, ContainerReport]:
        """Return the state of each container."""
        return {name: life.report(now, restarts=self._is_restarted(life)) for name, life in self.containers.items()}

    @property
    def _grace(self) -> float:
        grace = self._pod.spec.termination_grace_period_seconds
        return float(_GRACE if grace is None else grace)

    @property
    def _deadline(self) -> float | None:
        seconds = self._pod.spec.active_deadline_seconds
        return None if seconds is None else self.begun.at + seconds

    def _check_deadline(self, now: float) -> None:
        if self._deadline is not None and now >= self._deadline and not (self.is_stopping or self.is_finished):
            self.failure = "DeadlineExceeded"
            self.message = "Pod was active on the node longer than the specified deadline"
            self.ask_to_stop(now, self._grace)

    def _has_failed(self, life: ContainerLifecycle) -> bool:
        """Return whether a container ended badly and will not be tried again."""
        return life.end is not None and not life.end.is_success and not life.wants_restart(self._policy)

    def _is_restarted(self, life: ContainerLifecycle) -> bool:
        return life.wants_restart(self._policy) and not self.is_stopping and not self.is_finished

    def _to_start(self) -> list[ContainerLifecycle]:
        """Return the containers that should run now, up to the one that all others wait for."""
        wanted: list[ContainerLifecycle] = []
        lives = self.containers.values()
        has_begun = any(life.role is Role.MAIN and life.stage is not Stage.NEW for life in lives)
        for life in lives:
            is_done = life.role is Role.STEP and life.end is not None and life.end.is_success
            if is_done:
                continue
            wanted.append(life)
            if life.role is Role.STEP or (life.role is Role.SIDECAR and not has_begun and not life.is_started):
                break
        return wanted

    def _stop(self, now: float) -> list[Action]:
        """Return the actions that stop what runs: sidecars only when all others have ended, and one after another."""
        stop_by = now + self._grace if self._stop_by is None else self._stop_by
        others = [life for life in self.containers.values() if life.role is not Role.SIDECAR and not life.is_gone]
        sidecars = [life for life in self.containers.values() if life.role is Role.SIDECAR and not life.is_gone]
        actions: list[Action] = []
        for life in others or sidecars[-1:]:
            if life.stage is Stage.ALIVE and not life.is_stopping:
                life.stop(now, max(stop_by - now, 0.0))
                actions.append(EmitEvent("Killing", f"Stopping container {life.spec.name}"))
        return actions


def _ended(state: ContainerStateTerminated) -> Terminated:
    return Terminated(
        state.exit_code,
        state.started_at,
        state.finished_at,
        reason=state.reason or "",
        message=state.message or "",
        container_id=state.container_id or "",
    )
