"""Writes to systems other than the API server, which only the leader may do."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from steersman import Context

T = TypeVar("T")


class ExternalWrite(Protocol):
    """Performs a write to another system: `Context.external_write` for one system."""

    async def __call__(self, description: str, write: Callable[[], Awaitable[T]], /) -> T:
        """Perform the write if this process leads; ``description`` must not contain secrets."""


async def unfenced(_: str, write: Callable[[], Awaitable[T]], /) -> T:
    """Perform the write without a check: for tools and tests, which have no leader election."""
    return await write()


def fenced(ctx: Context[Any]) -> ExternalWrite:
    """Return the function that performs the writes of one reconcile."""

    async def write_to_redis(description: str, write: Callable[[], Awaitable[T]], /) -> T:
        return await ctx.external_write("redis", description, write)

    return write_to_redis
