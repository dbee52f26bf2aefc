"""The state of an operator as text: what it is, its queues and caches, and the objects that need a look."""

from collections.abc import Iterator
from datetime import datetime

from steersman.history.explanation import duration, duration_until
from steersman.history.records import KeyPhase
from steersman.history.state import CacheState, ControllerState, ObjectSummary, Overview, WebhookState

#: Phases in which an object needs a look, most urgent first.
_URGENT = (
    KeyPhase.GAVE_UP,
    KeyPhase.BACKING_OFF,
    KeyPhase.SLOWED_DOWN,
    KeyPhase.WAITING,
    KeyPhase.HELD,
    KeyPhase.PAUSED,
)


def overview_lines(overview: Overview, objects: list[ObjectSummary], now: datetime, *, most: int) -> list[str]:
    """Return the lines about one operator; at most so many objects."""
    lines = [
        f"{', '.join(overview.operators)}: {_leadership(overview, now)}, has run for {_age(overview.started, now)}"
    ]
    lines.append(f"cluster {overview.cluster}, {_namespaces(overview.namespaces)}, steersman {overview.version}")
    lines += ["", *map(_controller, overview.controllers), "", *map(cache_text, overview.caches)]
    if overview.webhooks:
        lines += ["", *map(_webhook, overview.webhooks)]
    urgent = [one for one in objects if _needs_look(one)]
    urgent.sort(key=lambda one: (_rank(one), one.last or now))
    if not urgent:
        return [*lines, "", f"{_count(len(objects), 'object')}: nothing fails or waits."]
    lines += ["", f"{len(urgent)} of {len(objects)} objects fail or wait, oldest first:"]
    lines += [line for one in urgent[:most] for line in _object(one, now)]
    return [*lines, f"  and {len(urgent) - most} more"] if len(urgent) > most else lines


def _leadership(overview: Overview, now: datetime) -> str:
    state = overview.leadership
    if state is None:
        return "runs without leader election"
    if state.shard_count:
        return f"{_replicas(overview)} on {len(state.shards)} of {state.shard_count} shards ({state.lease})"
    since = f" for {_age(state.since, now)}" if state.since is not None and state.is_leader else ""
    reason = f": {state.reason}" if state.reason and not state.is_leader else ""
    leads = "leads" if state.is_leader else "waits for leadership"
    if overview.replicas > 1:
        leads = (
            f"one of {overview.replicas} replicas leads" if state.is_leader else f"{overview.replicas} replicas wait"
        )
    return f"{leads}{since} ({state.lease}{reason})"


def _replicas(overview: Overview) -> str:
    return f"{overview.replicas} replicas work" if overview.replicas > 1 else "works"


def _webhook(state: WebhookState) -> str:
    counts = ", ".join(
        f"{count} {what}" for count, what in ((state.denied, "denied"), (state.failed, "failed")) if count
    )
    return (
        f"webhook {state.webhook}: {_count(state.reviews, 'review')}{f', {counts}' if counts else ''}, "
        f"slowest {duration(state.slowest)}"
    )


def _age(moment: datetime, now: datetime) -> str:
    return duration(max((now - moment).total_seconds(), 0.0))


def _namespaces(names: tuple[str, ...]) -> str:
    return f"namespaces {', '.join(names)}" if names else "all namespaces"


def _controller(state: ControllerState) -> str:
    keys = ", ".join(f"{count} {phase}" for phase, count in state.keys.items() if count)
    failed = f", {state.failures} failed" if state.failures else ""
    runs, workers = _count(state.runs, "run"), _count(state.workers, "worker")
    return f"{state.kind}: {keys or 'nothing to do'}; {runs}{failed}, {workers}"


def cache_text(state: CacheState) -> str:
    """Return the size, the age and the scope of a cache."""
    size = f"{_count(state.objects, 'object')}, {_bytes(state.bytes)}"
    if not state.is_synced:
        return f"cache of {state.kind}: not synced: {state.reason}"
    age = f", {duration(state.age)} old" if state.age is not None else ""
    places = f"in {', '.join(state.namespaces)}" if state.namespaces else ""
    scope = ", ".join(filter(None, ("metadata only" if state.is_metadata_only else "", state.selector, places)))
    return f"cache of {state.kind}{f' ({scope})' if scope else ''}: {size}{age}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _bytes(size: int) -> str:
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} B"


def _needs_look(one: ObjectSummary) -> bool:
    return bool(one.failures) or one.phase in _URGENT


def _rank(one: ObjectSummary) -> int:
    return _URGENT.index(one.phase) if one.phase in _URGENT else len(_URGENT)


def _object(one: ObjectSummary, now: datetime) -> Iterator[str]:
    times = f", failed {one.failures} times in a row" if one.failures else ""
    again = f", again {duration_until(one.until, now)}" if one.until is not None else ""
    yield f"  {one.object}: {one.phase}{times}{again}"
    if one.message:
        yield f"    {one.message}"
