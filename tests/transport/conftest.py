"""Transports to a server that a test names, closed when the test ends."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from steersman.clock import Clock, RealClock
from steersman.transport.config import ClusterConfig
from steersman.transport.http.transport import HttpTransport, connect
from steersman.transport.limits import Limits

Connect = Callable[..., AbstractAsyncContextManager[HttpTransport]]


@pytest.fixture
def connected() -> Connect:
    """Open a transport to a URL for the length of a block."""

    @asynccontextmanager
    async def open_(
        url: str, *, clock: Clock | None = None, limits: Limits | None = None, **config: Any
    ) -> AsyncIterator[HttpTransport]:
        transport = connect(ClusterConfig(server=url, **config), clock=clock or RealClock(), limits=limits)
        try:
            yield transport
        finally:
            await transport.close()

    return open_
