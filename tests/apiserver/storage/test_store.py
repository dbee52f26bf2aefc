"""The store, compared with a simple model: a list of all states it ever had."""

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from steersman.apiserver.storage.continue_token import ContinueToken
from steersman.apiserver.storage.history import Event, HistoryLimits
from steersman.apiserver.storage.record import Record
from steersman.apiserver.storage.store import (
    ContinueExpired,
    Delete,
    PageQuery,
    Put,
    Store,
    parse_version,
)
from steersman.errors import BadRequest, Expired, Timeout

PODS = "pods"


def pod(name: str, namespace: str = "default", **metadata: Any) -> dict[str, Any]:
    """Return a pod."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace, **metadata}}


def filled(*names: str, limits: HistoryLimits | None = None) -> Store:
    """Return a store with pods."""
    store = Store(limits)
    store.commit([Put(PODS, pod(name)) for name in names], 0)
    return store


class Cursor:
    """A watcher's place in the history of pods."""

    def __init__(self, store: Store, version: str) -> None:
        self._store = store
        self._version = version

    def take(self) -> list[Event]:
        """Return the events since the last call."""
        events = list(self._store.events_since(PODS, self._version))
        if events:
            self._version = str(events[-1].version)
        return events


def names_of(records: list[Record]) -> list[str]:
    """Return the names of records."""
    return [record.name for record in records]


def test_a_written_object_is_read_with_its_version_and_decoded_fields() -> None:
    """Reads decode fresh bytes; the decoded fields beside them save that where only they are needed."""
    store = Store()
    obj = pod("a", uid="u", labels={"l": "1"}, ownerReferences=[{"uid": "o"}], deletionTimestamp="now")
    (event,) = store.commit([Put(PODS, obj, {"spec.nodeName": "n"})], 5)
    record = store.get(PODS, "default", "a")
    assert record is event.record
    assert record.decode() == {**obj, "metadata": {**obj["metadata"], "resourceVersion": store.resource_version}}
    assert (record.uid, record.labels, record.owner_uids, record.is_deleting) == ("u", {"l": "1"}, ("o",), True)
    assert record.fields == {"spec.nodeName": "n"}
    assert "resourceVersion" not in obj["metadata"]


def test_each_change_creates_a_version_and_an_event_with_the_previous_object() -> None:
    """A watch with a selector needs the previous object to know whether it enters or leaves the selection."""
    store = filled("a")
    before = store.get(PODS, "default", "a")
    changed, removed = store.commit([Put(PODS, pod("a", labels={"x": "y"})), Delete(PODS, "default", "a")], 1)
    assert (changed.type, changed.previous) == ("MODIFIED", before)
    assert (removed.type, removed.previous) == ("DELETED", changed.record)
    assert removed.record.labels == {"x": "y"}
    assert repr(removed) == "<Event DELETED pods default/a at 4>"
    assert removed.record.decode()["metadata"]["resourceVersion"] == store.resource_version
    assert store.get(PODS, "default", "a") is None


def test_a_commit_that_fails_changes_nothing() -> None:
    """Watchers would see a half-done commit."""
    store = filled("a")
    version = store.resource_version
    with pytest.raises(KeyError):
        store.commit([Put(PODS, pod("b")), Delete(PODS, "default", "a"), Delete(PODS, "default", "a")], 1)
    assert store.resource_version == version
    assert names_of(store.list(PODS).records) == ["a"]


def test_lists_are_sorted_by_storage_key() -> None:
    """Pages and watches rely on it, and '-' sorts before '/'."""
    store = Store()
    store.commit([Put(PODS, pod("x", "a")), Put(PODS, pod("y", "a-b")), Put(PODS, pod("z", "b"))], 0)
    assert [record.path for record in store.list(PODS).records] == ["a-b/y", "a/x", "b/z"]
    assert names_of(store.list(PODS, PageQuery(namespace="a")).records) == ["x"]
    assert store.list(PODS, PageQuery(namespace="nowhere")).records == []


def test_all_pages_show_the_state_of_the_first() -> None:
    """A client that pages through a list must see one state of it, whatever is written in between."""
    store = filled("a", "b", "c", "d", "e")
    first = store.list(PODS, PageQuery(namespace="default", limit=2))
    assert (names_of(first.records), first.remaining) == (["a", "b"], 3)
    store.commit([Delete(PODS, "default", "c"), Put(PODS, pod("bb")), Put(PODS, pod("d", labels={"new": "1"}))], 1)
    second = store.list(PODS, PageQuery(namespace="default", limit=2, continue_token=first.continue_token))
    assert names_of(second.records) == ["c", "d"]
    assert second.records[1].labels == {}
    assert second.resource_version == first.resource_version
    last = store.list(PODS, PageQuery(namespace="default", limit=2, continue_token=second.continue_token))
    assert (names_of(last.records), last.continue_token, last.remaining) == (["e"], "", None)


def test_with_a_selector_the_number_of_remaining_items_is_not_returned() -> None:
    """The server does not count the matching objects."""
    store = filled("a", "b", "c")
    page = store.list(PODS, PageQuery(limit=1, selector=lambda record: record.name != "a"))
    assert (names_of(page.records), page.remaining) == (["b"], None)
    assert page.continue_token


def test_an_expired_page_offers_a_token_to_continue_with_current_objects() -> None:
    """Huge lists take longer than history lasts; the client may accept an inconsistent rest."""
    store = filled("a", "b", "c", limits=HistoryLimits(events=1))
    first = store.list(PODS, PageQuery(limit=1))
    store.commit([Put(PODS, pod("b", labels={"new": "1"})), Delete(PODS, "default", "c")], 1)
    with pytest.raises(ContinueExpired) as caught:
        store.list(PODS, PageQuery(continue_token=first.continue_token))
    assert caught.value.code == 410
    rest = store.list(PODS, PageQuery(continue_token=caught.value.continue_token))
    assert names_of(rest.records) == ["b"]
    assert rest.resource_version == store.resource_version


def test_pages_of_a_quiet_resource_expire_with_the_versions_of_the_store() -> None:
    """Versions are compacted for all resources at once: a client must not rely on a quiet one."""
    store = filled("a", "b")
    token = store.list(PODS, PageQuery(limit=1)).continue_token
    for now in (40, 100, 200):
        store.commit([Put("leases", pod("node"))], now)
    store.compact(330)
    assert [record.name for record in store.list(PODS, PageQuery(continue_token=token)).records] == ["b"]
    store.compact(401)
    with pytest.raises(ContinueExpired):
        store.list(PODS, PageQuery(continue_token=token))
    with pytest.raises(Expired):
        store.list(PODS, PageQuery(resource_version="2", match="Exact"))
    assert len(store.list(PODS).records) == 2


def test_a_list_may_require_a_version() -> None:
    """Exact returns the past, NotOlderThan the present, and a future version is an error."""
    store = filled("a", "b")
    version = store.resource_version
    store.commit([Delete(PODS, "default", "a")], 1)
    exact = store.list(PODS, PageQuery(resource_version=version, match="Exact"))
    assert (names_of(exact.records), exact.resource_version) == (["a", "b"], version)
    limited = store.list(PODS, PageQuery(resource_version=version, limit=5))
    assert names_of(limited.records) == ["a", "b"]
    for options in (PageQuery(resource_version=version), PageQuery(resource_version="0", limit=1)):
        assert names_of(store.list(PODS, options).records) == ["b"]
    newer = PageQuery(resource_version=version, match="NotOlderThan", limit=9)
    assert names_of(store.list(PODS, newer).records) == ["b"]
    with pytest.raises(Timeout, match="Too large resource version: 999, current"):
        store.list(PODS, PageQuery(resource_version="999"))
    store.expire_history()
    with pytest.raises(Expired, match="too old"):
        store.list(PODS, PageQuery(resource_version=version, match="Exact"))


@pytest.mark.parametrize("text", ["abc", "-1", "1.5", "٣"])
def test_an_invalid_version_is_rejected(text: str) -> None:
    """The server answers with an error that quotes the value."""
    with pytest.raises(ValueError, match="Invalid value"):
        parse_version(text)


def test_a_watcher_sees_every_event_once_and_in_order() -> None:
    """Every client's cache depends on this promise."""
    store = filled("a")
    cursor = Cursor(store, store.resource_version)
    assert cursor.take() == []
    first = store.commit([Put(PODS, pod("b"))], 1)
    second = store.commit([Put("other", pod("x")), Put(PODS, pod("c")), Delete(PODS, "default", "b")], 2)
    assert cursor.take() == [*first, second[1], second[2]]
    assert cursor.take() == []
    assert [event.type for event in store.events_since(PODS, "0")] == ["ADDED", "ADDED", "ADDED", "DELETED"]


def test_a_watch_from_the_future_waits_for_it() -> None:
    """The real server sends nothing until the version is reached, and then only later events."""
    store = Store()
    cursor = Cursor(store, "3")
    store.commit([Put(PODS, pod(name)) for name in "abc"], 0)
    assert [event.record.name for event in cursor.take()] == ["c"]


def test_history_is_bounded_by_count_and_age() -> None:
    """Memory is bounded; a client that needs more history gets an error and must list again."""
    store = filled("a", limits=HistoryLimits(events=3, seconds=60))
    slow = Cursor(store, "0")
    for second in range(5):
        store.commit([Put(PODS, pod("a", labels={"n": str(second)}))], second)
    with pytest.raises(Expired, match=r"too old resource version: 0 \(4\)"):
        slow.take()
    assert len(store.events_since(PODS, "4")) == 3
    store.commit([Put(PODS, pod("b"))], 1000)
    with pytest.raises(Expired):
        store.events_since(PODS, "6")
    assert [event.record.name for event in store.events_since(PODS, "7")] == ["b"]


def test_limits_that_keep_no_history_are_rejected() -> None:
    """Without history every watch would fail."""
    with pytest.raises(ValueError, match="room for an event"):
        HistoryLimits(events=0)


def test_dependents_are_found_by_the_uid_of_their_owner() -> None:
    """Garbage collection must not scan every object."""
    store = Store()
    store.commit([Put(PODS, pod("a", ownerReferences=[{"uid": "o"}, {"uid": "p"}])), Put(PODS, pod("b"))], 0)
    assert [(resource, record.name) for resource, record in store.dependents_of("o")] == [(PODS, "a")]
    store.commit(
        [Put(PODS, pod("a", ownerReferences=[{"uid": "p"}])), Put(PODS, pod("b", ownerReferences=[{"uid": "p"}]))], 1
    )
    assert store.dependents_of("o") == []
    assert [record.name for _, record in store.dependents_of("p")] == ["a", "b"]
    store.commit([Delete(PODS, "default", "a"), Delete(PODS, "default", "b")], 2)
    assert store.dependents_of("p") == []


def test_a_snapshot_is_restored_as_often_as_needed() -> None:
    """Each test of a suite starts from the same cluster."""
    store = filled("a", "b")
    version, snapshot = store.resource_version, store.snapshot()
    for _ in range(2):
        store.commit([Delete(PODS, "default", "a"), Put(PODS, pod("c", ownerReferences=[{"uid": "o"}]))], 1)
        store.restore(snapshot)
        assert names_of(store.list(PODS).records) == ["a", "b"]
        assert store.resource_version == version
        assert store.dependents_of("o") == []
        assert len(store.events_since(PODS, "0")) == 2


def test_resources_and_counts_list_the_stored_objects() -> None:
    """Deleting a namespace visits all resources that have objects."""
    store = filled("a", "b")
    store.commit([Put("widgets.demo.dev", pod("w")), Put("empty", pod("x")), Delete("empty", "default", "x")], 0)
    assert store.resources() == [PODS, "widgets.demo.dev"]
    assert (store.count(PODS), store.count("empty"), store.count("never")) == (2, 0, 0)
    assert repr(store) == "<Store at 6: 3 objects of 3 resources>"


def test_continue_tokens_are_encoded_as_the_real_server_does() -> None:
    """Recorded: the same position in the same list has the same token."""
    recorded = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTQ3NCwic3RhcnQiOiIvYzJcdTAwMDAifQ"
    assert ContinueToken.after(1474, "c2").encode() == recorded
    assert ContinueToken.decode(recorded) == ContinueToken(1474, "c2\0")


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ("abc", "invalid character 'i' looking for beginning of value"),
        ("%%%", "illegal base64 data"),
        (
            "eyJ2IjoibWV0YS5rOHMuaW8vdjIiLCJydiI6NSwic3RhcnQiOiJhIn0",
            "does not recognize this encoded version meta.k8s.io/v2",
        ),
        ("eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NSwic3RhcnQiOiIuLi94In0", r"\.\./x"),
        ("eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiJjMSJ9", "incorrect encoded start resourceVersion"),
        ("eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NX0", "encoded start key empty"),
    ],
)
def test_an_invalid_continue_token_is_a_bad_request(token: str, message: str) -> None:
    """Recorded messages of the real server."""
    with pytest.raises(BadRequest, match=f"invalid continue token: continue key is not valid: .*{message}"):
        filled("a").list(PODS, PageQuery(continue_token=token))


class StoreMachine(RuleBasedStateMachine):
    """Random writes, lists of any kept version, pages and watches, compared with all states ever."""

    def __init__(self) -> None:
        super().__init__()
        self.store = Store(HistoryLimits(events=6, seconds=1e9))
        self.states: dict[str, dict[str, str]] = {"1": {}}
        self.cursor = Cursor(self.store, "1")
        self.replica: dict[str, str] = {}
        self.pages: tuple[str, list[str], str] | None = None

    def remember(self, state: dict[str, str]) -> None:
        """Record the state that the model expects now."""
        self.states[self.store.resource_version] = state

    @property
    def state(self) -> dict[str, str]:
        """The state that the model expects now."""
        return self.states[self.store.resource_version]

    @rule(namespace=st.sampled_from(["a", "a-b"]), name=st.sampled_from("xyz"), label=st.sampled_from("12"))
    def put(self, namespace: str, name: str, label: str) -> None:
        """Write an object."""
        state = {**self.state, f"{namespace}/{name}": label}
        self.store.commit([Put(PODS, pod(name, namespace, labels={"l": label}))], 0)
        self.remember(state)

    @precondition(lambda self: self.state)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        """Delete an object."""
        path = data.draw(st.sampled_from(sorted(self.state)))
        state = {key: value for key, value in self.state.items() if key != path}
        self.store.commit([Delete(PODS, *path.split("/"))], 0)
        self.remember(state)

    @rule(data=st.data(), namespace=st.sampled_from(["", "a", "a-b"]))
    def list_at(self, data: st.DataObject, namespace: str) -> None:
        """List as of any recorded version."""
        version = data.draw(st.sampled_from(sorted(self.states, key=int)))
        try:
            page = self.store.list(PODS, PageQuery(namespace=namespace, resource_version=version, match="Exact"))
        except Expired:
            assert int(self.store.resource_version) - int(version) > 6
            return
        expected = {
            path: label
            for path, label in self.states[version].items()
            if path.startswith(f"{namespace}/") or not namespace
        }
        assert {record.path: record.labels["l"] for record in page.records} == expected
        assert [record.path for record in page.records] == sorted(expected)

    @rule(limit=st.integers(1, 2))
    def page(self, limit: int) -> None:
        """Read the next page of a list; its pages together are one state."""
        token, seen, version = self.pages or ("", [], "")
        try:
            page = self.store.list(PODS, PageQuery(limit=limit, continue_token=token))
        except ContinueExpired:
            self.pages = None
            return
        seen = [*seen, *(record.path for record in page.records)]
        if version:
            assert page.resource_version == version
        if page.continue_token:
            self.pages = (page.continue_token, seen, page.resource_version)
        else:
            assert seen == sorted(self.states[page.resource_version])
            self.pages = None

    @rule()
    def watch(self) -> None:
        """Follow the history; start again where it expired."""
        try:
            events = self.cursor.take()
        except Expired:
            page = self.store.list(PODS)
            self.replica = {record.path: record.labels["l"] for record in page.records}
            self.cursor = Cursor(self.store, page.resource_version)
            return
        for event in events:
            if event.type == "DELETED":
                del self.replica[event.record.path]
            else:
                assert (event.type == "ADDED") == (event.record.path not in self.replica)
                self.replica[event.record.path] = event.record.labels["l"]
        assert self.replica == self.state

    @rule()
    def go_and_come_back(self) -> None:
        """Take a snapshot, write, and restore it: the state must be the one before the writes."""
        snapshot = self.store.snapshot()
        self.store.commit([Put(PODS, pod("other", "a"))], 0)
        self.store.restore(snapshot)
        # Cursors of the discarded state are not valid any more.
        self.cursor = Cursor(self.store, self.store.resource_version)
        self.replica = dict(self.state)

    @invariant()
    def present_is_the_last_state(self) -> None:
        """Compare the present state with the model."""
        assert {record.path: record.labels["l"] for record in self.store.list(PODS).records} == self.state


TestStoreAgainstModel = StoreMachine.TestCase
TestStoreAgainstModel.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
