"""The life cycle of one container: start, probe, stop, end, restart. Pure; `pod_lifecycle` has the pod's rules."""

from dataclasses import dataclass, field
from enum import Enum

from steersman.kinds.core_v1 import Container
from steersman.localcluster.container_report import ContainerReport, Running, Terminated, Waiting
from steersman.localcluster.process_node.lifecycle.actions import Action, EmitEvent, RunHook, RunProbe, SendSignal
from steersman.localcluster.process_node.lifecycle.instant import Instant
from steersman.localcluster.process_node.lifecycle.probe_watch import ProbeKind, ProbeWatch, probes_of
from steersman.localcluster.process_node.lifecycle.restart_backoff import RestartBackoff
from steersman.objects.times import Duration

#: Seconds that a container has left after its preStop hook took all of its grace.
_LEAST_GRACE = 2.0


class Role(Enum):
    """What a container is in its pod."""

    STEP = "init container"
    SIDECAR = "sidecar"
    MAIN = "container"


class Stage(Enum):
    """The stage of a container's life cycle."""

    NEW = "not started"
    STARTING = "being started"
    ALIVE = "running"
    ENDED = "ended"


@dataclass(slots=True)
class _Stop:
    """How a container is being stopped."""

    kill_at: float
    hook_asked: bool = False
    hook_done: bool = False
    term_sent: bool = False
    kill_sent: bool = False


@dataclass(slots=True)
class ContainerLifecycle:
    """One container of a pod, in all its runs."""

    spec: Container
    role: Role
    #: Names the pod in messages.
    pod: str
    backoff: RestartBackoff
    stage: Stage = Stage.NEW
    restarts: int = 0
    #: How the previous run ended; after the current run has ended, how that one ended.
    last: Terminated | None = None
    end: Terminated | None = None
    #: When the container may be started (again).
    due: float = 0.0
    #: Why it could not be started.
    trouble: Waiting | None = None
    _has_run: bool = False
    _container_id: str = ""
    _image_id: str = ""
    _since: Instant | None = None
    _probes: dict[ProbeKind, ProbeWatch] = field(default_factory=dict)
    #: Whether its postStart hook has yet to run, and the run for which it was requested.
    _post_start: bool = False
    _hooked: str = ""
    _stop: _Stop | None = None

    def restore(self, restarts: int, end: Terminated) -> None:
        """Continue after a run that an earlier node, or this one before a restart, has recorded."""
        self._has_run, self.stage, self.restarts, self.end = True, Stage.ENDED, restarts, end

    # What happened.

    def starting(self, now: float) -> None:
        """Note that it is being started."""
        if self._has_run:
            self.restarts += 1
            self.backoff.restarted(now)
        if self.end is not None:
            self.last, self.end = self.end, None
        self.stage, self._stop = Stage.STARTING, None

    def started(self, instant: Instant, container_id: str, image_id: str = "") -> None:
        """Note that it runs."""
        self.stage, self.trouble, self._has_run = Stage.ALIVE, None, True
        self._since, self._container_id, self._image_id = instant, container_id, image_id
        lifecycle = self.spec.lifecycle
        self._post_start = lifecycle is not None and lifecycle.post_start is not None
        self._probes = {} if self.role is Role.STEP else probes_of(self.spec, instant.at)

    def start_failed(self, now: float, reason: str, message: str, retry: float) -> None:
        """Note that it could not be started; this is retried after some seconds."""
        self.stage, self.trouble, self.due = Stage.NEW, Waiting(reason, message), now + retry
        if self._has_run:
            self.restarts -= 1  # it did not come to another run

    def exited(self, instant: Instant, exit_code: int, message: str = "") -> None:
        """Note that all its processes have ended."""
        since = None if self._since is None else self._since.wall
        self.end = Terminated(exit_code, since, instant.wall, message=message, container_id=self._container_id)
        self.stage, self._stop, self._probes = Stage.ENDED, None, {}
        self.due = self.backoff.due(instant.at)

    def probed(self, kind: ProbeKind, now: float, grace: float, *, is_success: bool, why: str = "") -> list[Action]:
        """Handle the result of a probe: a container that is not alive, or does not start up, is stopped."""
        watch = self._probes.get(kind)
        if watch is None or not watch.is_under_way:
            return []
        is_early = watch.is_eager and not watch.has_failed
        watch.answer(now, is_success=is_success)
        if is_success or is_early:
            return []
        told: list[Action] = [EmitEvent("Unhealthy", f"{kind.value} probe failed: {why}", is_warning=True)]
        if watch.has_failed and kind is not ProbeKind.READINESS and self._stop is None:
            note = f"Container {self.spec.name} failed {kind.value.lower()} probe, will be restarted"
            own = watch.probe.termination_grace_period_seconds
            self.stop(now, grace if own is None else float(own))
            told.append(EmitEvent("Killing", note))
        return told

    def hook_done(self, hook: str, now: float, grace: float, *, failure: str = "") -> list[Action]:
        """Handle the result of a hook; a container whose postStart failed is stopped."""
        name = self.spec.name
        if hook == "preStop":
            if self._stop is not None:
                self._stop.hook_done = True
            return [EmitEvent("FailedPreStopHook", f"Container {name}: {failure}", is_warning=True)] if failure else []
        self._post_start = False
        if not failure:
            return []
        self.stop(now, grace)
        return [EmitEvent("FailedPostStartHook", f"Container {name}: {failure}", is_warning=True)]

    def stop(self, now: float, grace: float) -> None:
        """Stop it: its hook, a signal, and after the grace period another one.

        A shorter grace period replaces a longer one.
        """
        kill_at = now + grace
        if self._stop is None:
            self._stop = _Stop(kill_at)
        else:
            self._stop.kill_at = min(self._stop.kill_at, kill_at)

    # What follows from it.

    @property
    def is_gone(self) -> bool:
        """Whether nothing of it runs."""
        return self.stage in (Stage.NEW, Stage.ENDED)

    @property
    def is_stopping(self) -> bool:
        """Whether it has been asked to end."""
        return self._stop is not None

    @property
    def is_started(self) -> bool:
        """Whether other containers need not wait for it any longer."""
        startup = self._probes.get(ProbeKind.STARTUP)
        return self.stage is Stage.ALIVE and not self._post_start and (startup is None or startup.is_good)

    @property
    def is_ready(self) -> bool:
        """Whether it can serve."""
        readiness = self._probes.get(ProbeKind.READINESS)
        return self.is_started and not self.is_stopping and (readiness is None or readiness.is_good)

    def wants_restart(self, policy: str) -> bool:
        """Return whether it runs again after how it ended."""
        if self.end is None:
            return False
        if self.role is Role.SIDECAR:
            return True
        if self.role is Role.STEP:
            return not self.end.is_success and policy != "Never"
        return policy == "Always" or (policy == "OnFailure" and not self.end.is_success)

    def actions(self, now: float) -> list[Action]:
        """Return the actions of a running container."""
        if self.stage is not Stage.ALIVE:
            return []
        if self._stop is not None:
            return self._stopping(self._stop, now)
        if self._post_start:
            return self._hook_once()
        name, actions = self.spec.name, list[Action]()
        for watch in self._asked():
            if now >= watch.due and not watch.is_under_way:
                watch.ask(now)
                actions.append(RunProbe(name, watch.kind, watch.timeout))
        return actions

    def wakes_at(self) -> list[float]:
        """Return when the next step is due, if nothing happens before."""
        if self.stage is not Stage.ALIVE:
            return []
        if self._stop is not None:
            return [] if self._stop.kill_sent else [self._stop.kill_at]
        return [watch.due for watch in self._asked() if not watch.is_under_way]

    def report(self, now: float, *, restarts: bool) -> ContainerReport:
        """Return its state; ``restarts``: whether it will run again after it has ended."""
        state: Waiting | Running | Terminated = self.trouble or Waiting()
        last = self.last
        if self.stage is Stage.ALIVE and self._since is not None and not self._post_start:
            state = Running(self._since.wall)
        elif self.end is not None and self.stage is Stage.ENDED:
            state = self.end
            if restarts and self.due > now:
                seconds = Duration(seconds=self.backoff.seconds)
                text = f"back-off {seconds} restarting failed container={self.spec.name} pod={self.pod}"
                state, last = Waiting("CrashLoopBackOff", text), self.end
        return ContainerReport(
            state=state,
            last=last,
            restarts=self.restarts,
            is_started=self.is_started,
            is_ready=self.is_ready,
            container_id=self._container_id,
            image_id=self._image_id,
        )

    def _asked(self) -> list[ProbeWatch]:
        """Return the probes that are asked now: while the startup probe has not succeeded, only that one."""
        startup = self._probes.get(ProbeKind.STARTUP)
        if startup is not None and not startup.is_good:
            return [startup]
        return [watch for kind, watch in self._probes.items() if kind is not ProbeKind.STARTUP]

    def _hook_once(self) -> list[Action]:
        if self._container_id == self._hooked:
            return []
        self._hooked = self._container_id
        return [RunHook(self.spec.name, "postStart")]

    def _stopping(self, stop: _Stop, now: float) -> list[Action]:
        name, actions = self.spec.name, list[Action]()
        lifecycle = self.spec.lifecycle
        has_hook = lifecycle is not None and lifecycle.pre_stop is not None
        if has_hook and not stop.hook_asked and stop.kill_at > now:
            stop.hook_asked = True
            actions.append(RunHook(name, "preStop"))
        is_late = now >= stop.kill_at
        if not stop.term_sent and (not has_hook or stop.hook_done or is_late):
            stop.term_sent = True
            signal = lifecycle.stop_signal if lifecycle is not None and lifecycle.stop_signal else "SIGTERM"
            actions.append(SendSignal(name, signal))
            if is_late and has_hook and stop.hook_asked:
                stop.kill_at = now + _LEAST_GRACE
                return actions
        if stop.term_sent and is_late and not stop.kill_sent:
            stop.kill_sent = True
            actions.append(SendSignal(name, "SIGKILL"))
        return actions
