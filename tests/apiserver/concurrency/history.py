"""A simple model of a versioned key-value store, and the rules that every answer of a server must keep.

The order of writes is read from one watch that was open all the time. Every other answer is checked against it: an
answer is right if it describes a state between the last write acknowledged before the request was sent and the last
write requested before the answer arrived.
"""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Change:
    """One event of the watch."""

    kind: str
    version: int
    name: str
    uid: str
    value: str


def change_of(event: dict[str, Any]) -> Change:
    """Parse an event."""
    obj = event["object"]
    metadata = obj["metadata"]
    value = (obj.get("data") or {}).get("value", "")
    return Change(event["type"], int(metadata["resourceVersion"]), metadata["name"], metadata["uid"], value)


@dataclass(frozen=True, slots=True)
class State:
    """An object at a version."""

    version: int
    uid: str
    value: str


@dataclass(slots=True)
class Operation:
    """One request of a client with its answer; start and end are ticks, which only grow."""

    kind: str
    name: str
    asked: int
    answered: int
    status: int
    #: For a read or a write: the object in the answer. For a delete: the uid to be deleted.
    seen: State | None = None
    uid: str = ""
    #: The version that a conditional write expects.
    expected: int = 0
    #: For a list: its version and all of its objects.
    list_version: int = 0
    listed: dict[str, State] = field(default_factory=dict)


class Model:
    """The states of all objects at every version, replayed from the watch."""

    def __init__(self, first: int, changes: list[Change]) -> None:
        self.changes = changes
        self.versions = [first, *(change.version for change in changes)]
        assert self.versions == sorted(set(self.versions)), "events are ordered and unique"
        self.states: list[dict[str, State]] = [{}]
        for change in changes:
            self.states.append(self._next(self.states[-1], change))

    @staticmethod
    def _next(state: dict[str, State], change: Change) -> dict[str, State]:
        before = state.get(change.name)
        assert (before is None) == (change.kind == "ADDED"), f"{change} after {before}"
        after = dict(state)
        if change.kind == "DELETED":
            assert before is not None
            assert before.uid == change.uid
            del after[change.name]
        else:
            assert before is None or before.uid == change.uid, "an update never changes the uid"
            after[change.name] = State(change.version, change.uid, change.value)
        return after

    def at(self, version: int) -> dict[str, State]:
        """Return all objects as of a version."""
        index = max(place for place, known in enumerate(self.versions) if known <= version)
        return self.states[index]

    def window(self, low: int, high: int) -> list[dict[str, State]]:
        """Return every state from version ``low`` to version ``high``."""
        return [
            state
            for index, state in enumerate(self.states)
            if self.versions[index] <= high and (index + 1 == len(self.states) or self.versions[index + 1] > low)
        ]


class HistoryChecker:
    """Checks the answers that clients received against the model."""

    def __init__(self, model: Model, operations: list[Operation]) -> None:
        self.model = model
        self.operations = operations
        self._version_of_uid = {change.uid: change.version for change in model.changes if change.kind == "DELETED"}
        self._writes = [
            (operation, version) for operation in operations if (version := self._effect(operation)) is not None
        ]

    def _effect(self, operation: Operation) -> int | None:
        """Return the version that a write created."""
        if operation.status not in (200, 201) or operation.kind in ("get", "list"):
            return None
        if operation.kind == "delete":
            return self._version_of_uid[operation.uid]
        assert operation.seen is not None
        return operation.seen.version

    def check(self) -> None:
        """Check every operation."""
        effects = [version for _, version in self._writes]
        assert sorted(effects) == self.model.versions[1:], "each acknowledged write happened once, and no other"
        for operation in self.operations:
            low = max((v for write, v in self._writes if write.answered < operation.asked), default=0)
            high = max((v for write, v in self._writes if write.asked < operation.answered), default=0)
            window = self.model.window(low, max(high, self.model.versions[0]))
            _RULES[operation.kind](self, operation, window, low)

    def _get(self, operation: Operation, window: list[dict[str, State]], low: int) -> None:
        del low
        assert any(state.get(operation.name) == operation.seen for state in window), operation

    def _list(self, operation: Operation, window: list[dict[str, State]], low: int) -> None:
        assert operation.list_version >= low, "a list never shows the past"
        assert operation.listed == self.model.at(operation.list_version), operation
        assert operation.listed in window

    def _create(self, operation: Operation, window: list[dict[str, State]], low: int) -> None:
        if operation.status == 409:
            assert any(operation.name in state for state in window), operation
            return
        self._wrote(operation, low)

    def _update(self, operation: Operation, window: list[dict[str, State]], low: int) -> None:
        if operation.status == 404:
            assert any(operation.name not in state for state in window), operation
        elif operation.status == 409:
            found = [state.get(operation.name) for state in window]
            assert any(state is None or state.version != operation.expected for state in found), operation
        else:
            self._wrote(operation, low)
            assert operation.seen is not None
            before = self.model.at(operation.seen.version - 1)[operation.name]
            assert before.version == operation.expected, "a conditional write replaces what it was made for"

    def _delete(self, operation: Operation, window: list[dict[str, State]], low: int) -> None:
        if operation.status == 404:
            assert any(operation.name not in state for state in window), operation
        elif operation.status == 409:
            found = [state.get(operation.name) for state in window]
            assert any(state is not None and state.uid != operation.uid for state in found), operation
        else:
            assert self._version_of_uid[operation.uid] > low

    def _wrote(self, operation: Operation, low: int) -> None:
        assert operation.seen is not None
        assert operation.seen.version > low, "a write comes after all that were acknowledged before it was asked for"
        assert self.model.at(operation.seen.version)[operation.name] == operation.seen, operation


_RULES = {
    "get": HistoryChecker._get,
    "list": HistoryChecker._list,
    "create": HistoryChecker._create,
    "update": HistoryChecker._update,
    "delete": HistoryChecker._delete,
}
