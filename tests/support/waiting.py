"""Waiting for an expected event, never longer than a limit."""

import asyncio

#: Seconds of real time that any event gets: far more than it needs on the slowest machine.
_LIMIT = 60.0


async def happens(event: asyncio.Event, what: str) -> None:
    """Wait until an event is set; fail with ``what`` did not happen if it is not.

    A test that ends in ``await event.wait()`` can only pass or hang.
    """
    try:
        async with asyncio.timeout(_LIMIT):
            await event.wait()
    except TimeoutError:
        raise AssertionError(f"{what} did not happen within {_LIMIT:g} s") from None
