import asyncio

import pytest

from steersman.clock import RealClock
from steersman.transport.http.connection import Connection
from steersman.transport.http.pool import Pool
from steersman.transport.limits import Limits


class _Open(asyncio.Transport):
    def is_closing(self) -> bool:
        """Stay open."""
        return False


def _connection() -> Connection:
    connection = Connection(clock=RealClock(), limits=Limits(), on_free=lambda _: None, on_lost=lambda _: None)
    connection.connection_made(_Open())
    return connection


def _joined(pool: Pool) -> Connection:
    assert pool.reserve()
    connection = _connection()
    pool.join(connection)
    return connection


def _waiter(pool: Pool) -> "asyncio.Future[Connection | None]":
    waiter: asyncio.Future[Connection | None] = asyncio.get_running_loop().create_future()
    pool.wait_in_line(waiter)
    return waiter


def test_the_most_recent_connection_is_used_first_and_closed_ones_are_skipped() -> None:
    """The one used last is least likely to have been closed by the server."""
    pool = Pool(3)
    old, closed, fresh = (_joined(pool) for _ in range(3))
    for connection in (old, fresh, closed):
        pool.give_back(connection)
    closed.connection_lost(None)
    assert (pool.take(), pool.take(), pool.take()) == (fresh, old, None)


async def test_waiting_requests_are_served_in_order() -> None:
    """No request starves behind later ones."""
    pool = Pool(1)
    connection = _joined(pool)
    assert not pool.reserve()
    first, second = _waiter(pool), _waiter(pool)
    assert not pool.give_back(connection), "it has found work"
    assert (first.result(), second.done()) == (connection, False)
    pool.remove(connection)
    assert second.result() is None, "a place to open a connection of its own"
    assert not pool.reserve(), "that place is taken"
    pool.cancel_place()
    assert pool.reserve()


@pytest.mark.parametrize("gift", ["connection", "place"])
async def test_a_connection_given_to_a_cancelled_request_is_not_lost(gift: str) -> None:
    """A cancellation may come at the same moment as the connection."""
    pool = Pool(1)
    connection = _joined(pool)
    leaving, next_ = _waiter(pool), _waiter(pool)
    if gift == "connection":
        pool.give_back(connection)
        given = pool.leave_line(leaving)
        assert given is connection
        pool.give_back(given)
        assert next_.result() is connection
    else:
        pool.remove(connection)
        assert pool.leave_line(leaving) is None
        assert next_.result() is None


async def test_a_cancelled_request_is_skipped() -> None:
    """It takes no connection."""
    pool = Pool(1)
    connection = _joined(pool)
    leaving, next_ = _waiter(pool), _waiter(pool)
    leaving.cancel()
    assert pool.leave_line(leaving) is None
    pool.give_back(connection)
    assert next_.result() is connection


async def test_retired_connections_make_room_and_are_not_reused() -> None:
    """After a new certificate the old connections must not be used."""
    pool = Pool(2)
    idle, busy = _joined(pool), _joined(pool)
    pool.give_back(idle)
    waiter = _waiter(pool)
    assert pool.retire() == [idle]
    assert waiter.result() is None
    assert busy not in pool
    assert repr(pool) == "<Pool idle=0 busy=0 opening=1 waiting=0>"
