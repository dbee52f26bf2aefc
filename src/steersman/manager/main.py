"""`run_operators`: a manager with its connections and its watchdog, until a stop is requested."""

import asyncio
import gc
import logging
import os
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

from msgspec import Struct

from steersman.clock import Clock, RealClock
from steersman.concurrency import background
from steersman.errors import ConfigError
from steersman.json_types import JsonObject
from steersman.manager.clusters.fleet import Connections, Fleet
from steersman.manager.clusters.provider import ClusterProvider
from steersman.manager.manager import Manager, ManagerOptions
from steersman.manager.operator import Operator
from steersman.manager.process.watchdog import log_stall, watch_event_loop
from steersman.manager.tracing.environment import tracing_from
from steersman.serving.private_socket import socket_path
from steersman.serving.server import Listen
from steersman.transport.base import Transport
from steersman.transport.config import ClusterConfig, Login
from steersman.transport.http.transport import HttpTransport
from steersman.version import __version__

_log = logging.getLogger("steersman.manager")

#: Garbage collection thresholds: an operator creates many short-lived objects, and long-lived ones rarely form cycles.
_COLLECT_AFTER = (50_000, 20, 50)


class DevelopmentHooks(Struct, frozen=True, kw_only=True):
    """What `steer dev` puts between operators and the world, so that a person can interfere."""

    #: The time of the operators' timers; their connection keeps real time.
    clock: Clock
    #: Returns what stands before the operators' connection.
    wrap: Callable[[Transport], Transport]


async def run_operators(
    operators: Sequence[Operator],
    config: ClusterConfig,
    options: ManagerOptions,
    stop: asyncio.Event,
    *,
    beside: Callable[[Manager], Coroutine[Any, Any, None]] | None = None,
    development: DevelopmentHooks | None = None,
) -> None:
    """Run operators against a cluster until ``stop`` is set; an exception that ends them earlier is raised.

    An election runs in a thread with a connection of its own. ``beside`` runs next to the manager and ends with it.
    """
    _log.info("starting", extra=start_fields(operators, config, options))
    with tracing_from(os.environ, operators[0].name) as tracing:
        options = replace(options, tracing=options.tracing or tracing)
        await _run(operators, config, options, stop, beside=beside, development=development)
    _log.info("stopped")


async def run_in_clusters(
    operators: Sequence[Operator], provider: ClusterProvider, options: ManagerOptions, stop: asyncio.Event
) -> None:
    """Run operators in the clusters of a provider until ``stop`` is set.

    An election runs in each cluster, in threads with connections of their own; ``options.election`` names the Lease.
    """
    clock = RealClock()

    def connect(config: ClusterConfig) -> Transport:
        return HttpTransport(config, clock=clock)

    _log.info("starting", extra={"steersman": __version__, "operators": [operator.name for operator in operators]})
    with tracing_from(os.environ, operators[0].name) as tracing:
        options = replace(options, tracing=options.tracing or tracing, history=(*_private_sockets(), *options.history))
        fleet = Fleet(operators, provider, options, connections=Connections(connect, connect), clock=clock)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(watch_event_loop(clock, on_stall=log_stall))
            running = await stack.enter_async_context(background(fleet.run(), name="fleet"))
            gc.set_threshold(*_COLLECT_AFTER)
            stopping = await stack.enter_async_context(background(_wait(stop), name="stop"))
            await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
    _log.info("stopped")


async def _run(
    operators: Sequence[Operator],
    config: ClusterConfig,
    options: ManagerOptions,
    stop: asyncio.Event,
    *,
    beside: Callable[[Manager], Coroutine[Any, Any, None]] | None,
    development: DevelopmentHooks | None,
) -> None:
    real = RealClock()
    clock: Clock = real
    transport: Transport = HttpTransport(config, clock=real)
    if development is not None:
        clock, transport = development.clock, development.wrap(transport)
    options = replace(
        options,
        elector_transport=lambda: HttpTransport(config, clock=real),
        cluster=config.server,
        cluster_name=config.context,
        history=(*_private_sockets(), *options.history),
    )
    manager = Manager(operators, transport, options, clock=clock)

    def on_stall(seconds: float, place: str) -> None:
        manager.metrics.stalls.inc()
        log_stall(seconds, place)

    try:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(watch_event_loop(real, on_stall=on_stall))
            running = await stack.enter_async_context(background(manager.run(), name="manager"))
            if beside is not None:
                await stack.enter_async_context(background(beside(manager), name="beside"))
            gc.freeze()
            gc.set_threshold(*_COLLECT_AFTER)
            stopping = await stack.enter_async_context(background(_wait(stop), name="stop"))
            await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await transport.close()


def start_fields(operators: Sequence[Operator], config: ClusterConfig, options: ManagerOptions) -> JsonObject:
    """Return the fields of the first log line: the operators, the cluster, the namespaces and the user.

    No request is sent for it, so that the line is logged even if the server is unreachable.
    """
    login = config.authentication.username if isinstance(config.authentication, Login) else ""
    fields = {
        "steersman": __version__,
        "operators": [operator.name for operator in operators],
        "server": config.server,
        "context": config.context,
        "namespaces": list(options.namespaces) or "all",
        "identity": options.election.identity if options.election is not None else options.instance,
        "user": config.impersonation.user or login,
    }
    return {name: value for name, value in fields.items() if value}


def _private_sockets() -> list[Listen]:
    """Return where ``steer why`` on this machine asks this process; nowhere without a directory for it."""
    try:
        return [Listen(path=socket_path())]
    except ConfigError as error:
        _log.info("steer why on this machine cannot ask this operator", extra={"error": str(error)})
        return []


async def _wait(stop: asyncio.Event) -> None:
    await stop.wait()
