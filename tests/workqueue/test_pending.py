"""The rules of the work queue, one by one, and compared with a model."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.workqueue.pending import LOW, NORMAL, RETRY, Pending


def drain(pending: Pending[str, str]) -> list[str]:
    """Take and finish everything."""
    order = []
    while (taken := pending.take()) is not None:
        order.append(taken.key)
        pending.done(taken.key)
    return order


def test_a_key_added_twice_is_handed_out_once() -> None:
    """Ten changes of one object are one reconcile."""
    pending = Pending[str, str]()
    assert pending.add("a")
    assert not pending.add("a")
    assert drain(pending) == ["a"]


def test_a_key_added_while_it_runs_runs_again_and_only_once() -> None:
    """A change that arrives during a reconcile is never lost and never concurrent."""
    pending = Pending[str, str]()
    pending.add("a")
    assert pending.take() is not None
    assert not pending.add("a")
    pending.add("a")
    assert pending.take() is None
    assert pending.done("a")
    again = pending.take()
    assert again is not None
    assert not pending.done("a")
    assert pending.take() is None


def test_first_come_first_served_inside_a_level() -> None:
    """No key waits for later ones of its priority."""
    pending = Pending[str, str]()
    for key in "cab":
        pending.add(key)
    assert drain(pending) == ["c", "a", "b"]


def test_higher_priority_comes_first() -> None:
    """A current change does not wait for the initial list."""
    pending = Pending[str, str]()
    pending.add("listed", priority=LOW)
    pending.add("changed")
    assert drain(pending) == ["changed", "listed"]


def test_a_raised_key_comes_last_in_its_new_level() -> None:
    """Raising must not overtake earlier keys."""
    pending = Pending[str, str]()
    pending.add("a", priority=LOW)
    pending.add("b")
    pending.add("a")
    assert drain(pending) == ["b", "a"]


def test_a_lower_priority_never_lowers() -> None:
    """A resync of an urgent key leaves it urgent."""
    pending = Pending[str, str]()
    pending.add("a", priority=5)
    pending.add("b", priority=5)
    pending.add("a", priority=LOW)
    assert drain(pending) == ["a", "b"]


def test_a_priority_requested_while_running_counts_afterwards() -> None:
    """The second run is as urgent as its trigger."""
    pending = Pending[str, str]()
    pending.add("a")
    assert pending.take() is not None
    pending.add("a", priority=LOW)
    pending.add("b")
    pending.done("a")
    assert drain(pending) == ["b", "a"]


def test_the_lowest_level_does_not_starve() -> None:
    """A busy operator still finishes its initial list."""
    pending = Pending[str, str](patience=4)
    pending.add("low", priority=LOW)
    order = []
    for n in range(6):
        pending.add(f"high-{n}")
        taken = pending.take()
        assert taken is not None
        order.append(taken.key)
        pending.done(taken.key)
    assert "low" in order[:5]


def test_of_two_delays_the_earliest_counts() -> None:
    """A later delay never postpones an earlier one."""
    pending = Pending[str, str]()
    pending.add_at("a", 10.0)
    pending.add_at("a", 5.0)
    pending.add_at("a", 20.0)
    assert pending.next_due() == 5.0
    assert pending.promote(4.9) == []
    assert pending.promote(5.0) == ["a"]
    assert pending.promote(100.0) == []


def test_an_immediate_add_leaves_the_delayed_one() -> None:
    """The timer still fires."""
    pending = Pending[str, str]()
    pending.add_at("a", 5.0)
    pending.add("a")
    assert drain(pending) == ["a"]
    assert pending.promote(5.0) == ["a"]


def test_causes_merge_when_keys_merge() -> None:
    """The one run for ten changes has all of their causes."""
    pending = Pending[str, str]()
    pending.add_at("a", 1.0, causes=["timer"])
    pending.add("a", causes=["change", "change"])
    pending.add("a", causes=["child"])
    pending.promote(1.0)
    taken = pending.take()
    assert taken is not None
    assert taken.causes == ("change", "child", "timer")


def test_causes_are_bounded_and_the_rest_counted() -> None:
    """A key that is triggered for hours while its worker hangs needs no more memory."""
    pending = Pending[str, str](keep_causes=3)
    for n in range(100):
        pending.add("a", causes=[f"cause-{n}"])
    taken = pending.take()
    assert taken is not None
    assert taken.causes == ("cause-0", "cause-1", "cause-2")
    assert taken.dropped_causes == 97


def test_rescheduling_many_times_keeps_the_heap_small() -> None:
    """Earlier times for one key leave no entries behind."""
    pending = Pending[str, str]()
    for n in range(10_000):
        pending.add_at("a", 10_000.0 - n)
    assert len(pending._heap) < 100
    assert pending.next_due() == 1.0


def test_a_closed_queue_returns_ready_keys_and_accepts_no_new_ones() -> None:
    """Shutting down finishes accepted keys and drops later ones."""
    pending = Pending[str, str]()
    pending.add("a")
    pending.add_at("later", 1.0)
    pending.close()
    assert not pending.add("b")
    pending.add_at("b", 0.5)
    assert pending.promote(2.0) == []
    assert drain(pending) == ["a"]


def test_options_that_cannot_work_are_rejected() -> None:
    """Zero causes or no patience would silently break promises."""
    with pytest.raises(ValueError, match="keep_causes"):
        Pending[str, str](keep_causes=0)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sampled_from("abc"), st.sampled_from([LOW, 0, 7])),
        st.tuples(st.just("later"), st.sampled_from("abc"), st.integers(1, 5)),
        st.tuples(st.just("take"), st.just(""), st.just(0)),
        st.tuples(st.just("done"), st.sampled_from("abc"), st.just(0)),
        st.tuples(st.just("tick"), st.just(""), st.integers(1, 3)),
    ),
    max_size=60,
)


class _Model:
    """The state of each key, in the simplest terms."""

    def __init__(self) -> None:
        self.pending = Pending[str, int]()
        self.owed: dict[str, set[int]] = {key: set() for key in "abc"}
        self.later: dict[str, tuple[int, set[int]]] = {}
        self.running: set[str] = set()
        self.now = 0

    def add(self, serial: int, key: str, number: int) -> None:
        self.pending.add(key, priority=number, causes=[serial])
        self.owed[key].add(serial)

    def add_later(self, serial: int, key: str, number: int) -> None:
        self.pending.add_at(key, self.now + number, causes=[serial])
        when, causes = self.later.get(key, (self.now + number, set()))
        self.later[key] = (min(when, self.now + number), causes | {serial})

    def tick(self, _: int, __: str, number: int) -> None:
        self.now += number
        self.pending.promote(self.now)
        for due in [key for key, (when, _) in self.later.items() if when <= self.now]:
            self.owed[due] |= self.later.pop(due)[1]

    def done(self, _: int, key: str, __: int) -> None:
        if key in self.running:
            self.running.discard(key)
            self.pending.done(key)

    def take(self, _: int, __: str, ___: int) -> None:
        taken = self.pending.take()
        wanted = {key for key, causes in self.owed.items() if causes and key not in self.running}
        assert (taken is not None) == bool(wanted)
        if taken is not None:
            assert taken.key in wanted
            assert len(taken.causes) + taken.dropped_causes == len(self.owed[taken.key])
            assert set(taken.causes) <= self.owed[taken.key]
            self.owed[taken.key] = set()
            self.running.add(taken.key)


@settings(max_examples=150)
@given(STEPS)
def test_no_add_is_lost_and_no_key_runs_twice(steps: list[tuple[str, str, int]]) -> None:
    """Every add is followed by a later take, in any interleaving."""
    model = _Model()
    acts = {"add": model.add, "later": model.add_later, "tick": model.tick, "done": model.done, "take": model.take}
    for serial, (what, key, number) in enumerate(steps):
        acts[what](serial, key, number)


def test_no_level_between_two_others_starves() -> None:
    """Retries are between changes and the initial list: a flood of one and a backlog of the other do not stop them."""
    pending = Pending[str, str](patience=4)
    pending.add("retry", priority=RETRY)
    taken: list[str] = []
    for number in range(12):
        pending.add(f"change-{number}", priority=NORMAL)
        pending.add(f"listed-{number}", priority=LOW)
        got = pending.take()
        assert got is not None
        pending.done(got.key)
        taken.append(got.key)
    assert taken.index("retry") <= 6
    assert any(key.startswith("listed") for key in taken)
    assert sum(key.startswith("change") for key in taken) >= 8


def test_only_the_very_delay_is_cancelled() -> None:
    """A caller that cancels its own timer must not take away an earlier one of another caller."""
    pending = Pending[str, str]()
    pending.add_at("a", 10.0)
    pending.cancel("a", 10.0)
    assert (pending.due_at("a"), pending.next_due(), pending.promote(20.0)) == (None, None, [])
    pending.add_at("a", 10.0)
    pending.add_at("a", 5.0)
    pending.cancel("a", 10.0)
    pending.cancel("unknown", 10.0)
    assert pending.promote(5.0) == ["a"]
