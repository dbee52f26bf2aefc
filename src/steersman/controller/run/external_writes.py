"""Writes to other systems, such as a database: fenced by leadership, counted, logged and recorded.

What the fence cannot know: whether this process is paused between the check and the write itself, and whether the
system carried out a write whose answer was lost. Only the other system can prevent the first, by comparing a term or a
version; only an idempotent write makes the second harmless.
"""

import asyncio
from collections.abc import Awaitable, Callable
from logging import Logger, LoggerAdapter
from typing import Protocol, TypeVar

from msgspec import Struct

from steersman.clock import Clock
from steersman.controller.reports.writes import ExternalWrite, WriteResult
from steersman.objects.resource import KubeObject
from steersman.protocol.http import WriteFence

T = TypeVar("T")


class CarryOut(Protocol):
    """Carry out a named write. Tests count and interrupt writes here."""

    async def __call__(self, write: str, work: Callable[[], Awaitable[T]]) -> T:
        """Call ``work`` and return its result."""


async def carry_out_at_once(write: str, work: Callable[[], Awaitable[T]]) -> T:  # noqa: ARG001 - see CarryOut
    """Call ``work`` and return its result."""
    return await work()


class ExternalWrites(Struct, frozen=True):
    """Carry out the writes of one controller to other systems."""

    clock: Clock
    #: Checked right before each write; ``None`` without leader election.
    fence: WriteFence | None
    carry_out: CarryOut
    #: Called with each write when it has ended; must neither block nor raise.
    on_ended: Callable[[ExternalWrite], None]

    async def run(
        self,
        system: str,
        description: str,
        work: Callable[[], Awaitable[T]],
        *,
        obj: KubeObject,
        log: LoggerAdapter[Logger],
        on_ended: Callable[[ExternalWrite], None] = lambda _: None,
    ) -> T:
        """Check the fence, call ``work`` and return its result; exceptions of ``work`` are raised unchanged."""
        started, began_at = self.clock.now(), self.clock.monotonic()
        result = WriteResult.REFUSED

        async def fenced() -> T:
            nonlocal result
            if self.fence is not None:
                self.fence.check()
            result = WriteResult.FAILED
            return await work()

        try:
            answer = await self.carry_out(f"{system}: {description}", fenced)
            result = WriteResult.SUCCEEDED
        except asyncio.CancelledError:
            result = WriteResult.INTERRUPTED
            raise
        finally:
            seconds = self.clock.monotonic() - began_at
            ended = ExternalWrite(
                system=system,
                description=description,
                key=obj.key,
                uid=obj.uid,
                started=started,
                seconds=seconds,
                result=result,
            )
            self.on_ended(ended)
            on_ended(ended)
            fields = {"system": system, "description": description, "result": str(result)}
            log.info("external write", extra={**fields, "seconds": round(seconds, 6)})
        return answer
