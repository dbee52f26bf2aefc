"""The text that explains to a user why an object is in its state."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from steersman.history.explanation import duration, explain, next_run, sentence
from steersman.history.records import (
    CauseRecord,
    CauseType,
    ConditionRecord,
    EventRecord,
    ExternalWriteRecord,
    FieldChange,
    KeyPhase,
    KeyState,
    LeadershipChange,
    ObjectName,
    ObjectView,
    Read,
    Reconcile,
    Result,
    Verb,
    WebhookCall,
    WriteRecord,
)

NOW = datetime(2026, 11, 16, 10, 37, 55, 200_000, tzinfo=UTC)
SITE, POD = ObjectName("CustomPod", "default", "a"), ObjectName("Pod", "default", "a-x7k2p")
RUN = Reconcile(
    controller="custompod", object=SITE, uid="u", number=7, started=NOW - timedelta(milliseconds=98), seconds=0.0041
)
VIEW = ObjectView(object=SITE)
TLS = ObjectName("Secret", "default", "tls")


def secret(number: int) -> ObjectName:
    """Return the name of a Secret."""
    return ObjectName("Secret", "default", f"s-{number}")


def test_an_object_that_waits_for_a_pod_is_explained() -> None:
    """The page that the guide shows: one sentence, what comes next, and each run with its causes and writes."""
    not_ready = ConditionRecord("Ready", "False", "WaitingForPods", "2 of 3 pods are ready")
    first = replace(
        RUN,
        causes=(CauseRecord(CauseType.CHANGED, SITE, "spec", (FieldChange("spec.replicas", "2", "3"),)),),
        reads=(Read("Pod", 2, age=0.04),),
        writes=(
            WriteRecord(Verb.CREATED, POD),
            WriteRecord(Verb.STATUS, SITE, "9", (FieldChange("readyReplicas", "3", "2"),)),
        ),
        conditions=(ConditionRecord("Progressing", "True", "WaitingForPods"),),
    )
    second = replace(
        RUN,
        number=8,
        started=NOW - timedelta(milliseconds=69),
        seconds=0.0009,
        causes=(CauseRecord(CauseType.CREATED, POD),),
    )
    state = KeyState(KeyPhase.WAITING, NOW + timedelta(minutes=4, seconds=12), POD)
    view = replace(VIEW, conditions=(not_ready,), state=state, reconciles=(first, second))
    assert explain(view, NOW) == [
        "CustomPod default/a is not ready: 2 of 3 pods are ready.",
        "Next run: when Pod a-x7k2p changes, or at 10:42:07 (in 4 min 12 s).",
        "",
        "10:37:55.102  reconcile 7, 4.1 ms, because spec.replicas changed 2 → 3",
        "                read    2 Pods (40 ms old)",
        "                created Pod a-x7k2p",
        "                status  readyReplicas 2, Progressing=True (WaitingForPods)",
        "10:37:55.131  reconcile 8, 0.9 ms, because Pod a-x7k2p was created",
        "                wrote nothing",
    ]


@dataclass(frozen=True)
class Case:
    """A view and the sentence about it."""

    view: ObjectView
    expected: str


_READY = ConditionRecord("Ready", "True", "AsDeclared", "3 pods are ready.")
_FAILED = replace(RUN, result=Result.FAILED, message="KeyError: 'x'", failures_before=2)
_PAUSED = KeyState(KeyPhase.PAUSED, detail="paused by hand")


@pytest.mark.parametrize(
    "case",
    [
        Case(VIEW, "CustomPod default/a has not been reconciled yet."),
        Case(replace(VIEW, exists=False), "CustomPod default/a does not exist, or the operator does not watch it."),
        Case(replace(VIEW, conditions=(_READY,)), "CustomPod default/a is ready: 3 pods are ready."),
        Case(replace(VIEW, reconciles=(RUN,)), "CustomPod default/a was reconciled: nothing is left to do."),
        Case(replace(VIEW, reconciles=(_FAILED,)), "CustomPod default/a fails: KeyError: 'x' (3 times in a row)."),
        Case(replace(VIEW, state=_PAUSED, conditions=(_READY,)), "CustomPod default/a is paused: paused by hand."),
        Case(
            replace(VIEW, is_deleting=True, reconciles=(_FAILED,)),
            "CustomPod default/a is being deleted: KeyError: 'x' (3 times in a row).",
        ),
        Case(
            replace(VIEW, conditions=(_READY,), generation=4, observed_generation=3, reconciles=(RUN,)),
            "CustomPod default/a has a newer spec than its status is about.",
        ),
    ],
    ids=lambda case: case.expected,
)
def test_one_sentence_says_whether_it_is_ready(case: Case) -> None:
    """During an incident only this line is read; a condition about an earlier spec must not count."""
    assert sentence(case.view) == case.expected


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (KeyState(), "when it or an object that it owns changes."),
        (KeyState(KeyPhase.RUNNING), "it is being reconciled right now."),
        (KeyState(KeyPhase.QUEUED), "as soon as a worker is free."),
        (
            KeyState(KeyPhase.HELD, NOW + timedelta(seconds=9)),
            "once the cache shows what the last run wrote, or in 9.0 s.",
        ),
        (KeyState(KeyPhase.BACKING_OFF, NOW + timedelta(seconds=80)), "at 10:39:15 (in 1 min 20 s)."),
        (KeyState(KeyPhase.BACKING_OFF, NOW - timedelta(seconds=1)), "at 10:37:54 (now)."),
        (KeyState(until=NOW + timedelta(hours=14)), "at 17 Nov 00:37:55 (in 14 h)."),
        (
            KeyState(KeyPhase.GAVE_UP),
            "when its spec changes. The last run said that trying again is of no use until then.",
        ),
        (KeyState(KeyPhase.PAUSED), "after `steer resume`; a deletion is still cleaned up."),
        (
            KeyState(missing=(TLS,)),
            "when Secret tls appears, or when it or an object that it owns changes.",
        ),
        (
            KeyState(KeyPhase.WAITING, NOW + timedelta(seconds=80), TLS, missing=(TLS,)),
            "when Secret tls appears, or at 10:39:15 (in 1 min 20 s).",
        ),
        (
            KeyState(KeyPhase.BACKING_OFF, NOW + timedelta(seconds=80), missing=tuple(map(secret, range(5)))),
            "when Secret s-0, Secret s-1 or one of 3 more appears, or at 10:39:15 (in 1 min 20 s).",
        ),
    ],
)
def test_the_explanation_says_what_happens_next(state: KeyState, expected: str) -> None:
    """An object that waits looks like a forgotten one, unless the time of the next run is shown."""
    assert next_run(replace(VIEW, state=state), NOW) == f"Next run: {expected}"


def test_a_run_of_yesterday_has_a_date() -> None:
    """A quiet object ran last days ago: a time alone looks like today's."""
    view = replace(VIEW, reconciles=(replace(RUN, started=NOW - timedelta(days=2)),))
    assert explain(view, NOW)[3].startswith("14 Nov 10:37:55.200  reconcile 7, 4.1 ms")


def test_a_failed_run_shows_its_writes() -> None:
    """Users search for the writes of a failed run."""
    run = replace(
        _FAILED,
        causes=(
            CauseRecord(CauseType.RETRY, detail="KeyError"),
            CauseRecord(CauseType.TIMER),
            CauseRecord(CauseType.RESYNC),
        ),
        more_causes=1,
        reads=(Read("Secret", 0, ObjectName("Secret", "other", "s")), Read("Pod", 1, age=None)),
        writes=(
            WriteRecord(Verb.CHANGED, POD, "3", (FieldChange("spec.image", "app:1", "app:2"),), more_changes=2),
            WriteRecord(Verb.FAILED, ObjectName("ConfigMap", "default", "c"), error="Forbidden: no"),
        ),
        external_writes=(ExternalWriteRecord("dns", "add a record", "failed", 2.0),),
        events=(EventRecord("Warning", "ReconcileFailed", "KeyError: 'x'"),),
    )
    assert explain(replace(VIEW, reconciles=(run,)), NOW)[3:] == [
        "10:37:55.102  reconcile 7, 4.1 ms, because of a retry (KeyError) and its timer ended and 2 more",
        "                read    Secret other/s (absent), 1 Pod (from the server)",
        "                changed Pod a-x7k2p  spec.image app:1 → app:2 and 2 more",
        "                failed  ConfigMap c: Forbidden: no",
        "                outside dns: add a record (failed), 2.0 s",
        "                event   Warning ReconcileFailed: KeyError: 'x'",
        "                failed  KeyError: 'x'",
    ]


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.0009, "0.9 ms"),
        (0.0412, "41 ms"),
        (3.21, "3.2 s"),
        (59.4, "59 s"),
        (59.9, "1 min"),
        (252, "4 min 12 s"),
        (3600, "1 h"),
        (90_061, "1 d 1 h"),
    ],
)
def test_a_duration_is_short(seconds: float, expected: str) -> None:
    """Two units are enough to plan with."""
    assert duration(seconds) == expected


def test_a_start_of_the_operator_is_one_cause_however_many_objects_it_found() -> None:
    """Every owned object that exists is a cause of the first run; the reader needs one sentence."""
    run = replace(RUN, causes=(CauseRecord(CauseType.EXISTS, SITE), CauseRecord(CauseType.EXISTS, POD)))
    lines = explain(replace(VIEW, reconciles=(run,)), NOW)
    assert lines[3].endswith("reconcile 7, 4.1 ms, because the operator has just started")


def test_reviews_and_leadership_stand_in_the_timeline_where_they_happened() -> None:
    """A gap in the runs, or a rejected change, is explained by what happened between them."""
    review = WebhookCall(
        webhook="/validate-custompod", started=NOW - timedelta(seconds=2), seconds=0.003, status=200, operation="UPDATE"
    )
    view = replace(
        VIEW,
        reconciles=(RUN,),
        reviews=(
            replace(review, is_allowed=True),
            replace(review, started=NOW - timedelta(seconds=1), is_allowed=False, message="spec.replicas: too many."),
            replace(review, started=NOW - timedelta(milliseconds=50), status=499),
        ),
        leadership=(
            LeadershipChange(at=NOW - timedelta(seconds=3), is_leader=True, lease="shop/shop"),
            LeadershipChange(at=NOW, is_leader=False, lease="shop/shop", reason="stopping"),
        ),
    )
    assert explain(view, NOW)[3:] == [
        "10:37:52.200  the operator began to lead (shop/shop)",
        "10:37:53.200  review of UPDATE by /validate-custompod, 3.0 ms: allowed",
        "10:37:54.200  review of UPDATE by /validate-custompod, 3.0 ms: denied: spec.replicas: too many",
        "10:37:55.102  reconcile 7, 4.1 ms",
        "                wrote nothing",
        "10:37:55.150  review of UPDATE by /validate-custompod, 3.0 ms: no answer (HTTP 499)",
        "10:37:55.200  the operator ceased to lead (shop/shop): stopping",
    ]


def test_the_reviews_of_an_object_that_was_never_created_are_shown() -> None:
    """A user asks for an object that a webhook has rejected: that is the answer."""
    denied = WebhookCall(
        webhook="/validate", started=NOW, seconds=0.001, status=200, is_allowed=False, operation="CREATE", message="no"
    )
    assert explain(replace(VIEW, exists=False, reviews=(denied,)), NOW) == [
        "CustomPod default/a does not exist, or the operator does not watch it.",
        "",
        "10:37:55.200  review of CREATE by /validate, 1.0 ms: denied: no",
    ]


def test_a_request_that_changed_nothing_is_shown_as_one_that_was_sent() -> None:
    """Applies of an unchanged intent are not sent at all: the timeline must not read as if this were one of them."""
    run = replace(RUN, writes=(WriteRecord(Verb.UNCHANGED, POD),))
    assert explain(replace(VIEW, reconciles=(run,)), NOW)[-1] == (
        "                sent    Pod a-x7k2p, which was like that already"
    )
