"""Two replicas that reconcile one object at the same time are noticed, and nothing else is."""

import pytest

from steersman.simulation.runs.overlaps import ReconcileSpan, overlaps

FIRST = ReconcileSpan("replica-1", "shop", "Shop default/a", 10.0, 20.0)


def _other(begin: float, end: float) -> ReconcileSpan:
    return FIRST._replace(replica="replica-2", begin=begin, end=end)


@pytest.mark.parametrize(("begin", "end"), [(5.0, 11.0), (12.0, 13.0), (15.0, 15.0), (19.0, 30.0), (5.0, 30.0)])
def test_a_reconcile_of_another_replica_at_the_same_time_is_noticed(begin: float, end: float) -> None:
    """The leader before is not done yet: both may write."""
    [text] = overlaps([FIRST, _other(begin, end)])
    assert text.startswith("replica-1 and replica-2 reconcile Shop default/a at the same time, from ")


@pytest.mark.parametrize(
    "other",
    [
        _other(0.0, 10.0),
        _other(20.0, 30.0),
        _other(10.0, 20.0)._replace(object="Shop default/b"),
        _other(10.0, 20.0)._replace(controller="window"),
        FIRST,
    ],
)
def test_reconciles_one_after_the_other_are_allowed(other: ReconcileSpan) -> None:
    """So are those of other objects and of other reconcilers; within a replica the queue keeps them apart."""
    assert overlaps([FIRST, other]) == []
