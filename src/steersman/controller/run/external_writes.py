"""Writes to other systems, such as a database: fenced by leadership, logged and recorded.

What the fence cannot know: whether this process is paused between the check and the write itself, and whether the
system carried out a write whose answer was lost. Only the other system can prevent the first, by comparing a term or a
version; only an idempotent write makes the second harmless.
"""

import asyncio
from collections.abc import Awaitable, Callable
from logging import Logger, LoggerAdapter
from typing import Protocol, TypeAlias, TypeVar, cast

from msgspec import Struct

from steersman.clock import Clock
from steersman.history.records import WriteResult
from steersman.protocol.http import WriteFence

T = TypeVar("T")


class CarryOut(Protocol):
    """Carry out a named write. Tests count and interrupt writes here."""

    async def __call__(self, write: str, work: Callable[[], Awaitable[T]]) -> T:
        """Call ``work`` and return its result."""


class ExternalWriter(Protocol):
    """Carries out writes to one other system: `Context.external_writer`, or `without_fence`.

    Clients of other systems take one, so that they depend on nothing else.
    """

    async def __call__(self, description: str, write: Callable[[], Awaitable[T]], /) -> T:
        """Call ``write`` and return its result, if this process leads; ``description`` must not contain secrets."""


async def without_fence(description: str, write: Callable[[], Awaitable[T]], /) -> T:  # noqa: ARG001 - an ExternalWriter
    """Call ``write`` and return its result: an `ExternalWriter` for tools and tests, which have no leader election."""
    return await write()


#: Called when a write has ended, with its system, description, result and seconds; must neither block nor raise.
OnEnded: TypeAlias = Callable[[str, str, WriteResult, float], None]


async def carry_out_at_once(write: str, work: Callable[[], Awaitable[T]]) -> T:  # noqa: ARG001 - see CarryOut
    """Call ``work`` and return its result."""
    return await work()


class ExternalWrites(Struct, frozen=True):
    """Carry out the writes of one controller to other systems."""

    clock: Clock
    #: Checked right before each write; ``None`` without leader election.
    fence: WriteFence | None
    carry_out: CarryOut

    async def run(
        self,
        system: str,
        description: str,
        work: Callable[[], Awaitable[T]],
        *,
        planned: T | None = None,
        log: LoggerAdapter[Logger],
        on_ended: OnEnded,
    ) -> T:
        """Check the fence, call ``work`` and return its result; exceptions of ``work`` are raised unchanged.

        Returns ``planned`` if ``carry_out`` returns without calling ``work``, as it does in a plan.
        """
        began_at = self.clock.monotonic()
        result = WriteResult.REFUSED

        async def fenced() -> T:
            nonlocal result
            if self.fence is not None:
                self.fence.check()
            result = WriteResult.FAILED
            return await work()

        try:
            answer = await self.carry_out(f"{system}: {description}", fenced)
            if result is WriteResult.REFUSED:
                return cast("T", planned)
            result = WriteResult.SUCCEEDED
        except asyncio.CancelledError:
            result = WriteResult.INTERRUPTED
            raise
        finally:
            seconds = self.clock.monotonic() - began_at
            on_ended(system, description, result, seconds)
            fields = {"system": system, "description": description, "result": str(result)}
            log.info("external write", extra={**fields, "seconds": round(seconds, 6)})
        return answer
