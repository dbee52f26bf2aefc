"""The JSON of every page, as typed values made from an `Introspection`.

Names of objects are arrays of kind, namespace and name; times are RFC 3339; fields that have their default are absent.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from steersman.history.explanation import next_run, sentence
from steersman.history.recorded_test import name_of_test, recorded_test
from steersman.history.recordings import most_telling
from steersman.history.records import KeyPhase, LeadershipChange, ObjectName, ObjectView, Reconcile, Result
from steersman.history.state import (
    CacheState,
    ControllerState,
    Introspection,
    ObjectSummary,
    Overview,
    TreeNode,
)
from steersman.webview.actions import Fault
from steersman.webview.activity import ActivitySlice

#: Stands in a test for an operator whose module is not known.
_UNKNOWN_OPERATOR = "my_operator.main:operator"
#: Why an object needs a look, gravest first.
CONCERNS = ("stuck", "failing", "hot", "deleting", "held", "paused")
#: Objects of one concern that the overview names; the others are counted.
_NAMED = 50
#: Children of one node of a tree that are shown.
MOST_CHILDREN = 50
#: Runs that the overview lists.
_RECENT = 40
#: Keys that the page of the queues lists.
_KEYS = 500


class KindCounts(Struct, frozen=True, kw_only=True):
    """The objects of one kind by readiness."""

    total: int = 0
    ready: int = 0
    not_ready: int = 0
    #: Objects whose last run failed.
    failing: int = 0


class Concern(Struct, frozen=True):
    """Objects that need a look for the same reason, oldest first."""

    name: str
    count: int
    objects: list[ObjectSummary]


class OverviewDocument(Struct, frozen=True, kw_only=True):
    """The first page."""

    overview: Overview
    kinds: dict[str, KindCounts]
    concerns: list[Concern]
    activity: list[ActivitySlice]
    recent: list[Reconcile]
    #: When the process began and ceased to lead, newest first.
    leadership: list[LeadershipChange]


class Branch(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A node of the tree with the children that are shown: at most `MOST_CHILDREN`, not ready ones first if cut."""

    object: ObjectName
    ready: str = ""
    detail: str = ""
    children: tuple["Branch", ...] = ()
    more_children: int = 0


class ObjectDocument(Struct, frozen=True, kw_only=True):
    """The page of one object. The texts are those of ``steer why``."""

    view: ObjectView
    sentence: str
    next_run: str
    tree: Branch | None
    #: The numbers of the reconciles that can be saved as tests.
    recorded: list[int]


class SavedTest(Struct, frozen=True):
    """A recorded reconcile as a pytest: the name of the file, and its source."""

    file: str
    source: str


class QueuesDocument(Struct, frozen=True, kw_only=True):
    """The page of queues and caches; ``keys`` are those that are not idle, the next one first."""

    controllers: tuple[ControllerState, ...]
    caches: tuple[CacheState, ...]
    keys: list[ObjectSummary]
    more_keys: int


class SettingsDocument(Struct, frozen=True, kw_only=True):
    """The page of the settings."""

    overview: Overview
    settings: Mapping[str, str]
    history_limits: dict[str, int]
    actions: list[str]
    #: Whether plans can be made.
    plans: bool
    faults: tuple[Fault, ...]


class ChangedDocument(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What changed since the last message of a stream."""

    summaries: list[ObjectSummary] = []
    gone: list[ObjectName] = []
    runs: list[Reconcile] = []
    #: Too much changed to list it: ask for everything again.
    reload: bool = False


def overview_document(
    source: Introspection, summaries: list[ObjectSummary], activity: list[ActivitySlice]
) -> OverviewDocument:
    """Return the first page."""
    return OverviewDocument(
        overview=source.overview(),
        kinds=kind_counts(summaries),
        concerns=concerns(summaries),
        activity=activity,
        recent=source.history.newest(_RECENT)[::-1],
        leadership=source.history.leadership()[: -_RECENT - 1 : -1],
    )


def object_document(source: Introspection, name: ObjectName) -> ObjectDocument | None:
    """Return the page of an object; ``None`` if it neither exists nor is remembered.

    An object whose creation was denied exists in its reviews only.
    """
    view = source.view(name)
    if not (view.exists or view.reconciles or view.reviews):
        return None
    tree = source.tree(name)
    return ObjectDocument(
        view=view,
        sentence=sentence(view),
        next_run=next_run(view, source.overview().now),
        tree=branch_of(tree) if tree is not None else None,
        recorded=[one.number for one in source.recordings(name) or ()],
    )


def saved_test(source: Introspection, name: ObjectName, number: str) -> SavedTest | None:
    """Return a reconcile as a test, the most telling one without a number; ``None`` if it is not recorded."""
    found = source.recordings(name) or []
    recording = most_telling(one for one in found if number in ("", str(one.number)))
    if recording is None:
        return None
    return SavedTest(
        f"test_{name_of_test(recording)}.py", recorded_test(recording, recording.operator or _UNKNOWN_OPERATOR)
    )


def branch_of(node: TreeNode) -> Branch:
    """Return a tree that a page can show, however many objects it has."""
    is_cut = len(node.children) > MOST_CHILDREN
    children = sorted(node.children, key=_readiness) if is_cut else node.children
    return Branch(
        object=node.object,
        ready=node.ready,
        detail=node.detail,
        children=tuple(branch_of(child) for child in children[:MOST_CHILDREN]),
        more_children=max(len(children) - MOST_CHILDREN, 0),
    )


def queues_document(source: Introspection, summaries: list[ObjectSummary]) -> QueuesDocument:
    """Return the page of queues and caches."""
    overview = source.overview()
    keys = sorted((one for one in summaries if one.phase is not KeyPhase.IDLE), key=_next_first)
    return QueuesDocument(
        controllers=overview.controllers,
        caches=overview.caches,
        keys=keys[:_KEYS],
        more_keys=max(len(keys) - _KEYS, 0),
    )


def summary_of(view: ObjectView) -> ObjectSummary:
    """Return the line of an object in a list."""
    last = view.reconciles[-1] if view.reconciles else None
    state = view.state
    if last is None:
        return ObjectSummary(
            object=view.object, ready=view.ready, is_deleting=view.is_deleting, phase=state.phase, until=state.until
        )
    return ObjectSummary(
        object=view.object,
        ready=view.ready,
        is_deleting=view.is_deleting,
        phase=state.phase,
        until=state.until,
        last=last.started,
        result=last.result,
        message=last.message,
        failures=last.failures_before + 1 if last.is_failure else 0,
    )


def kind_counts(summaries: Iterable[ObjectSummary]) -> dict[str, KindCounts]:
    """Return the objects of every kind by readiness."""
    counts: dict[str, list[int]] = {}
    for one in summaries:
        row = counts.setdefault(one.object.kind, [0, 0, 0, 0])
        row[0] += 1
        row[1] += one.ready is not None and one.ready.status == "True"
        row[2] += one.ready is not None and one.ready.status == "False"
        row[3] += one.failures > 0
    return {
        kind: KindCounts(total=total, ready=ready, not_ready=not_ready, failing=failing)
        for kind, (total, ready, not_ready, failing) in sorted(counts.items())
    }


def concerns(summaries: Iterable[ObjectSummary]) -> list[Concern]:
    """Return the objects that need a look by reason, each under its gravest reason only."""
    found: dict[str, list[ObjectSummary]] = {name: [] for name in CONCERNS}
    for one in summaries:
        name = _concern_of(one)
        if name:
            found[name].append(one)
    return [
        Concern(name, len(objects), sorted(objects, key=_oldest_first)[:_NAMED])
        for name, objects in found.items()
        if objects
    ]


_BY_PHASE = {
    KeyPhase.GAVE_UP: "stuck",
    KeyPhase.SLOWED_DOWN: "hot",
    KeyPhase.HELD: "held",
    KeyPhase.PAUSED: "paused",
}


def _concern_of(one: ObjectSummary) -> str:
    by_phase = _BY_PHASE.get(one.phase, "")
    if by_phase == "stuck":
        return by_phase
    if one.failures or one.result is Result.FAILED:
        return "failing"
    return by_phase or ("deleting" if one.is_deleting else "")


def _readiness(node: TreeNode) -> int:
    """Sort stably by what a person wants to see first, if there is more than fits."""
    return {"False": 0, "Unknown": 1}.get(node.ready, 2)


def _oldest_first(one: ObjectSummary) -> tuple[float, ObjectName]:
    return one.last.timestamp() if one.last is not None else 0.0, one.object


def _next_first(one: ObjectSummary) -> tuple[int, float, ObjectName]:
    """Sort running keys before queued ones, and those before the ones that wait, by the moment that they wait for."""
    rank = {KeyPhase.RUNNING: 0, KeyPhase.QUEUED: 1}.get(one.phase, 2)
    return rank, one.until.timestamp() if one.until is not None else float("inf"), one.object
