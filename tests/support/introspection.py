"""An operator as views see it, with a history that a test provides."""

from datetime import UTC, datetime

from steersman.history.history import History
from steersman.history.recordings import Recording, Recordings
from steersman.history.records import ConditionRecord, KeyPhase, KeyState, ObjectName, ObjectView, Reconcile
from steersman.history.state import (
    CacheState,
    ControllerState,
    LeadershipState,
    ObjectSummary,
    Overview,
    TreeNode,
)

STARTED = datetime(2026, 11, 16, 10, 0, tzinfo=UTC)


class SampleIntrospection:
    """The objects are those with records in the history."""

    def __init__(self) -> None:
        self.history = History()
        self.recorded: Recordings | None = None
        self.states: dict[ObjectName, KeyState] = {}

    def overview(self) -> Overview:
        """Return the state of the whole."""
        return Overview(
            operators=("site",),
            version="0.2.0",
            cluster="https://localhost:6443",
            started=STARTED,
            now=STARTED,
            leadership=LeadershipState(is_leader=True, lease="default/site", identity="a"),
            controllers=(
                ControllerState(
                    name="site",
                    kind="Site",
                    api_version="example.com/v1",
                    plural="sites",
                    workers=4,
                    keys={KeyPhase.RUNNING: 1},
                    runs=7,
                    failures=2,
                ),
            ),
            caches=(
                CacheState(kind="Site", api_version="example.com/v1", objects=2, bytes=2048, age=0.5, is_synced=True),
                CacheState(kind="Pod", api_version="v1", reason="waiting for the first list"),
            ),
        )

    def summaries(self) -> list[ObjectSummary]:
        """Return every object of the history."""
        return [
            ObjectSummary(
                object=last.object,
                phase=self._state(last.object).phase,
                last=last.started,
                result=last.result,
                message=last.message,
                failures=last.failures_before + 1 if last.is_failure else 0,
            )
            for last in self.history.each_last()
        ]

    def view(self, name: ObjectName) -> ObjectView:
        """Return what the history has of one object."""
        reconciles = tuple(self.history.of(name))
        ready = ConditionRecord("Ready", "True", "AsAsked", "all is well")
        return ObjectView(
            object=name,
            exists=bool(reconciles),
            conditions=(ready,) if reconciles else (),
            state=self._state(name),
            reconciles=reconciles,
            reviews=tuple(one for one in self.history.calls() if one.object == name),
        )

    def recordings(self, name: ObjectName) -> list[Recording] | None:
        """Return the recordings of one object."""
        return None if self.recorded is None else self.recorded.of(name)

    def tree(self, name: ObjectName) -> TreeNode | None:
        """Return the object alone."""
        return TreeNode(object=name) if self.history.last(name) is not None else None

    def add(self, run: Reconcile, state: KeyState | None = None) -> None:
        """Add a reconcile, and perhaps what its key does since."""
        self.history.add(run)
        if state is not None:
            self.states[run.object] = state

    def _state(self, name: ObjectName) -> KeyState:
        return self.states.get(name, KeyState())
