"""The one door for writes to other systems, such as a database: fenced by leadership, counted, logged and recorded.

What the check cannot know: whether this process is paused between the check and the write itself, and whether the
system carried out a write whose answer was lost. Only the other system can exclude the first, by a term or a version
that it compares; only a write that may be repeated makes the second harmless.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from enum import StrEnum
from logging import Logger, LoggerAdapter
from typing import Protocol, TypeVar

from msgspec import Struct

from steersman.clock import Clock
from steersman.objects.identity import ObjectKey
from steersman.objects.resource import KubeObject
from steersman.protocol.http import WriteFence

T = TypeVar("T")


class WriteResult(StrEnum):
    """How a write to another system ended."""

    SUCCEEDED = "succeeded"
    #: It raised: it may or may not have been carried out.
    FAILED = "failed"
    #: It was cancelled while under way: it may or may not have been carried out.
    INTERRUPTED = "interrupted"
    #: This process does not lead any more: it was not sent.
    REFUSED = "refused"


class ExternalWrite(Struct, frozen=True, kw_only=True):
    """The record of one write to another system. It holds nothing of what was written."""

    system: str
    description: str
    #: The object for which it was made.
    key: ObjectKey
    uid: str
    started: datetime
    seconds: float
    result: WriteResult


class CarryOut(Protocol):
    """Carries out a write that has a name. Tests count and interrupt writes here."""

    async def __call__(self, write: str, work: Callable[[], Awaitable[T]]) -> T:
        """Call ``work`` and return its result."""


async def carry_out_at_once(write: str, work: Callable[[], Awaitable[T]]) -> T:  # noqa: ARG001 - see CarryOut
    """Call ``work`` and return its result."""
    return await work()


class ExternalWrites(Struct, frozen=True):
    """Carries out the writes of one controller to other systems."""

    clock: Clock
    #: Checked right before each write; ``None`` without leader election.
    fence: WriteFence | None
    carry_out: CarryOut
    #: Called with the record of each write; must neither wait nor raise.
    on_ended: Callable[[ExternalWrite], None]

    async def run(
        self,
        system: str,
        description: str,
        work: Callable[[], Awaitable[T]],
        *,
        obj: KubeObject,
        log: LoggerAdapter[Logger],
    ) -> T:
        """Check the fence, call ``work`` and return its result; an exception of ``work`` is raised unchanged."""
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
            self.on_ended(
                ExternalWrite(
                    system=system,
                    description=description,
                    key=obj.key,
                    uid=obj.uid,
                    started=started,
                    seconds=seconds,
                    result=result,
                )
            )
            fields = {"system": system, "description": description, "result": str(result)}
            log.info("external write", extra={**fields, "seconds": round(seconds, 6)})
        return answer
