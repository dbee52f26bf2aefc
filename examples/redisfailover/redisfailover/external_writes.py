"""Changes outside of the API server: they are carried out only while this process leads."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from steersman import Context

T = TypeVar("T")


class ExternalWrite(Protocol):
    """Carries out a change outside of the API server: `Context.external_write`, for one system."""

    async def __call__(self, description: str, write: Callable[[], Awaitable[T]], /) -> T:
        """Carry it out if this process leads; ``description`` must not contain secrets."""


async def unfenced(_: str, write: Callable[[], Awaitable[T]], /) -> T:
    """Carry it out in any case: for tools and tests, which have no leadership to lose."""
    return await write()


def fenced(ctx: Context[Any]) -> ExternalWrite:
    """Return what carries out the changes of one reconcile."""

    async def write_to_redis(description: str, write: Callable[[], Awaitable[T]], /) -> T:
        return await ctx.external_write("redis", description, write)

    return write_to_redis
