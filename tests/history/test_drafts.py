"""Records that are made when they are needed: what is read, what is kept, and what is counted, must be the same."""

import threading

import pytest

from steersman.history.history import History, HistoryLimits
from tests.history.test_history import named, run
from tests.support.drafts import drafted


def test_a_record_is_made_when_it_is_read_and_not_before() -> None:
    """Comparing fields costs more than everything else, and most records are dropped unread."""
    history, draft = History(), drafted(run("a", 1))
    history.add_draft(draft)
    assert draft.made == 0
    assert history.of(named("a")) == history.newest(5) == [history.last(named("a"))] == [run("a", 1)]
    assert draft.made == 3


def test_a_draft_that_is_dropped_unread_is_never_made() -> None:
    """That is what a busy object saves."""
    history = History(HistoryLimits(per_object=2))
    drafts = [drafted(run("a", number)) for number in range(5)]
    for draft in drafts:
        history.add_draft(draft)
    assert [one.number for one in history.of(named("a"))] == [3, 4]
    assert [draft.made for draft in drafts] == [0, 0, 0, 1, 1]
    assert history.bytes == 2000
    history.forget(named("a"))
    assert (history.bytes, len(history)) == (0, 0)


@pytest.mark.parametrize(
    "limits", [HistoryLimits(drafts=100), HistoryLimits(draft_bytes=100_000)], ids=["number", "bytes"]
)
def test_drafts_are_bounded(limits: HistoryLimits) -> None:
    """Drafts refer to whole objects: in a fleet of thousands they would take all memory."""
    history = History(limits)
    drafts = [drafted(run(f"site-{number}", number)) for number in range(500)]
    for draft in drafts:
        history.add_draft(draft)
    assert 350 <= sum(draft.made for draft in drafts) <= 500
    assert history.bytes < 100 * 1000 + 400 * 200
    assert [one.number for one in history.newest(500)] == list(range(500))
    history.make_records()
    assert history.bytes < 500 * 200
    assert [one.number for one in history.newest(500)] == list(range(500))


def test_the_oldest_drafts_are_dropped_but_the_last_run_of_each_object_is_made() -> None:
    """Making every record costs a sixth of a reconcile; `steer why` needs at least the last run of a quiet object."""
    history = History(HistoryLimits(drafts=100, per_object=1000))
    quiet = [drafted(run(f"quiet-{number}", number)) for number in range(10)]
    failed = run("busy", 10_000)
    busy = [drafted(run("busy", number)) for number in range(500)]
    for draft in quiet:
        history.add_draft(draft)
    history.add(failed)
    for draft in busy:
        history.add_draft(draft)
    assert [draft.made for draft in quiet] == [1] * 10
    assert sum(draft.made for draft in busy) == 0
    kept = [one.number for one in history.of(named("busy"))]
    assert (kept[0], kept[1:]) == (10_000, list(range(500 - len(kept[1:]), 500)))
    assert 30 <= len(kept) <= 102
    assert len(history) == len(history.newest(1000)) == 10 + len(kept)
    for name in history.objects():
        history.forget(name)
    assert (history.bytes, len(history)) == (0, 0)


def test_the_limits_of_the_whole_hold_for_drafts() -> None:
    """The oldest are dropped, drafts and records alike."""
    history = History(HistoryLimits(bytes=10_000))
    history.add(run("first", 0))
    for number in range(1, 20):
        history.add_draft(drafted(run(f"site-{number}", number)))
    assert history.bytes <= 10_000
    assert [one.number for one in history.newest(50)] == list(range(10, 20))
    assert history.of(named("first")) == []


def test_a_large_draft_is_made_at_once() -> None:
    """A draft of megabytes would push out the records of all other objects."""
    history = History(HistoryLimits(bytes=100_000))
    for number in range(10):
        history.add(run(f"quiet-{number}", 1))
    draft = drafted(run("huge", 1), size=90_000_000)
    history.add_draft(draft)
    assert draft.made == 1
    assert (len(history), history.bytes < 5000) == (11, True)


def test_listeners_get_whole_records_and_counters_only_the_end() -> None:
    """The web view shows a run at once; metrics must not cost the comparison of its fields."""
    history = History()
    ends, records = list[object](), list[object]()
    history.listen_to_ends(ends.append)
    first, second = drafted(run("a", 1)), drafted(run("a", 2))
    history.add_draft(first)
    history.listen(records.append)
    history.add_draft(second)
    assert (first.made, second.made) == (0, 1)
    assert ends == [first, run("a", 2)]
    assert records == [run("a", 2)]


def test_a_draft_without_readable_details_is_still_a_run() -> None:
    """The run has happened: `steer why` must show it, and the other runs of the object."""
    history = History()
    history.add_draft(drafted(run("a", 1), fails=True))
    history.add_draft(drafted(run("a", 2)))
    assert [(one.number, one.is_cut) for one in history.of(named("a"))] == [(1, True), (2, False)]
    history.make_records()
    assert [(one.number, one.is_cut) for one in history.of(named("a"))] == [(1, True), (2, False)]


def test_drafts_are_made_while_other_threads_read_and_add() -> None:
    """Every number is there once and the size adds up, whichever thread makes a record or drops it."""
    history = History(HistoryLimits(per_object=5, records=400, drafts=50))
    failures = list[BaseException]()

    def work(first: int) -> None:
        try:
            for number in range(first, first + 1000):
                history.add_draft(drafted(run(f"site-{number % 97}", number)))
                if not number % 50:
                    history.newest(100)
        except BaseException as error:  # noqa: BLE001 - told to the main thread
            failures.append(error)

    threads = [threading.Thread(target=work, args=(first,)) for first in (0, 1000, 2000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    history.make_records()
    numbers = [one.number for one in history.newest(1000)]
    assert len(numbers) == len(set(numbers)) == len(history) <= 400
    for name in history.objects():
        history.forget(name)
    assert (history.bytes, len(history)) == (0, 0)
