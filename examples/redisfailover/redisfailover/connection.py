"""A redis-py connection to a server or a sentinel with short time limits and without retries."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Self

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from steersman.concurrency import unbroken
from steersman.controller import ExternalWriter, without_fence

from redisfailover.observation import Address

#: Commands that change nothing.
_READS = frozenset({"INFO", "CONFIG GET", "ACL GETUSER", "ACL LIST", "SENTINEL MASTER"})
#: Commands whose description includes the name of the setting, and the index of that argument.
_SETTING = {"CONFIG SET": 1, "SENTINEL SET": 2}
#: Seconds to wait for a connection, and for a reply.
_TIMEOUT = 1.0


class Connection(Redis):  # type: ignore[misc]  # Any to the checker, so that it says the same with and without the library
    """One connection. Commands that change something are sent through the ``write`` that it was created with.

    A cancellation that arrives while a command waits for its reply is raised after the reply.
    """

    @classmethod
    @asynccontextmanager
    async def to(
        cls, address: Address, password: str = "", *, write: ExternalWriter = without_fence, within: float = _TIMEOUT
    ) -> AsyncIterator[Self]:
        """Connect for the duration of the block. There are no retries: the next reconcile is the retry."""
        redis = cls(
            host=address.host,
            port=address.port,
            # With a user name a server that has no password accepts any; without a user name it accepts none.
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
        """Send a command and return its reply.

        The library waits with ``asyncio.wait_for``, which before Python 3.12 loses a cancellation that arrives together
        with the reply, and it leaks the connection if it is cancelled while it connects. So it is never cancelled.
        """
        send = super().execute_command
        name = str(args[0])
        if name in _READS:
            return await unbroken(send(*args, **options))
        described = " ".join([name, *args[_SETTING[name] :][:1]]) if name in _SETTING else name
        return await self._write(described, lambda: unbroken(send(*args, **options)))
