"""The table of shards."""

import pytest

from steersman.errors import DecodeError
from steersman.sharding.assignment import Assignment, Holder, newest


def test_a_table_survives_being_stored() -> None:
    """It is an annotation that people read, too."""
    table = Assignment((Holder(0, "a"), None, Holder(2, "b"), Holder(0, "a")), {"v1/Secret": "12"})
    assert Assignment.parse(table.text()) == table
    assert table.text() == (
        '{"shards":4,"held":[{"slot":0,"identity":"a","shards":[0,3]},{"slot":2,"identity":"b","shards":[2]}],'
        '"versions":{"v1/Secret":"12"}}'
    )


def test_shards_are_taken_and_released_in_one_write() -> None:
    """Half a move would leave a shard without a worker for a round."""
    a, b = Holder(0, "a"), Holder(1, "b")
    table = Assignment((a, b, None)).moved(a, take=[2], release=[0], versions={})
    assert table.holders == (None, b, a)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"shards":0}',
        '{"shards":9999}',
        '{"shards":2,"held":[{"slot":0,"identity":"a","shards":[0]},{"slot":1,"identity":"b","shards":[0]}]}',
        '{"shards":2,"held":[{"slot":0,"identity":"a","shards":[2]}]}',
    ],
)
def test_a_table_that_makes_no_sense_is_rejected(text: str) -> None:
    """Someone has edited it: to guess would let two replicas work on one shard."""
    with pytest.raises(DecodeError, match="table of shards"):
        Assignment.parse(text)


def test_versions_are_compared_as_numbers() -> None:
    """As texts 9 would be newer than 10."""
    assert newest({"a": "9", "b": "5"}, {"a": "10", "b": "4", "c": "1"}) == {"a": "10", "b": "5", "c": "1"}
