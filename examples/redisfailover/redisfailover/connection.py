"""A connection with a Redis server or a sentinel, by redis-py, that gives up soon and never tries again by itself."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Self

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from steersman.concurrency import unbroken

from redisfailover.external_writes import ExternalWrite, unfenced
from redisfailover.observation import Address

#: Commands that change nothing.
_READS = frozenset({"INFO", "CONFIG GET", "ACL GETUSER", "SENTINEL MASTER"})
#: Commands that are described with the name of what they set, and where that is.
_SETTING = {"CONFIG SET": 1, "SENTINEL SET": 2}
#: Seconds to wait for a connection, and for an answer.
_TIMEOUT = 1.0


class Connection(Redis):  # type: ignore[misc]  # Any to the checker, so that it says the same with and without the library
    """One connection. Commands that change something pass through the ``write`` that it was made with.

    A caller that is cancelled while it waits for an answer hears of that once the answer has come.
    """

    @classmethod
    @asynccontextmanager
    async def to(
        cls, address: Address, password: str = "", *, write: ExternalWrite = unfenced, within: float = _TIMEOUT
    ) -> AsyncIterator[Self]:
        """Connect inside the block: whoever asked and got no answer in time looks again anyway."""
        redis = cls(
            host=address.host,
            port=address.port,
            # By name: a server without a password accepts any then, and none that is called without a name.
            username="default" if password else None,
            password=password or None,
            socket_timeout=within,
            socket_connect_timeout=within,
            retry=Retry(NoBackoff(), 0),
            decode_responses=True,
            protocol=2,
        )
        redis._write = write
        try:
            yield redis
        finally:
            await unbroken(redis.aclose())

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """Send a command and give its answer.

        The library waits by ``asyncio.wait_for``, which before Python 3.12 loses a cancellation that comes with the
        answer; and one that comes while it connects costs it the connection. So nothing of it is cancelled.
        """
        send = super().execute_command
        name = str(args[0])
        if name in _READS:
            return await unbroken(send(*args, **options))
        described = " ".join([name, *args[_SETTING[name] :][:1]]) if name in _SETTING else name
        return await self._write(described, lambda: unbroken(send(*args, **options)))
