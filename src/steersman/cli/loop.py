"""The event loop of a command that serves or runs: uvloop where it is installed."""

import asyncio


def loop_factory() -> type[asyncio.AbstractEventLoop] | None:
    """Return what makes the loop; ``None`` for Python's own."""
    try:
        import uvloop
    except ImportError:
        return None
    factory: type[asyncio.AbstractEventLoop] = uvloop.Loop
    return factory
