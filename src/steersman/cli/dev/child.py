"""The process of the operator: a fresh interpreter for each start, so that no module is older than its file.

It loads the operator, installs its CRDs, runs it, and reports through a pipe. A second pipe, the lifeline, carries one
byte when the API is served, and closes when the parent process ends, in whatever way; then this one ends too.
"""

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct
from msgspec.json import decode, encode

from steersman.cli.dev.error_location import place_of, text_of
from steersman.cli.dev.log_reports import ReportHandler
from steersman.cli.dev.reports import Failed, Kind, Loaded, Queue, Queues, Reconciled, Report, Running, line_of
from steersman.clock import Clock, RealClock

if TYPE_CHECKING:
    from steersman.manager.manager import Manager
    from steersman.manager.operator import Operator
    from steersman.manager.web_view import ReconcileNow, WebViewServing
    from steersman.webview.actions import Actions
    from steersman.webview.plans import Plans

#: Seconds that running reconciles get to finish when the operator is restarted.
GRACE = 2.0
#: Seconds after which a process whose parent has ended is killed.
_ORPHANED = GRACE + 3.0
#: Seconds between looks at the queues.
_LOOK_EVERY = 0.1
_FAILED = 1
#: Owner of the fields that are written from the web view.
_FIELD_MANAGER = "steer-dev"
#: The variable with port and token of the web view.
WEB_VIEW = "STEERSMAN_WEB_VIEW"


class Orders(Struct, frozen=True, kw_only=True):
    """What the process is to do, handed over as its only argument."""

    target: str
    kubeconfig: str
    #: Descriptors of the two pipes.
    reports: int
    lifeline: int
    verbose: bool = False

    def argument(self) -> str:
        """Write it as the argument."""
        return encode(self).decode()


class Reporter:
    """Writes reports into the pipe; once it is closed, they are dropped."""

    def __init__(self, descriptor: int, clock: Clock) -> None:
        self._descriptor = descriptor
        self._clock = clock
        self._lock = threading.Lock()

    def now(self) -> float:
        """Return the time of a report."""
        return self._clock.now().timestamp()

    def send(self, report: Report) -> None:
        """Write one report; threads log too, so one at a time."""
        rest = line_of(report)
        with self._lock:
            try:
                while rest:
                    rest = rest[os.write(self._descriptor, rest) :]
            except BrokenPipeError:
                pass


def main() -> None:
    """Run the operator as ordered, until told to stop."""
    orders = decode(sys.argv[1].encode(), type=Orders)
    root = Path.cwd()
    reporter = Reporter(orders.reports, RealClock())
    level = logging.DEBUG if orders.verbose else logging.INFO
    logging.getLogger().handlers[:] = [ReportHandler(reporter.send, root, level)]
    logging.getLogger().setLevel(level)
    if not orders.verbose:  # the dashboard shows starts and stops by itself
        logging.getLogger("steersman.manager").setLevel(logging.WARNING)
    begin = threading.Event()
    threading.Thread(target=_hold, args=(orders.lifeline, begin), name="lifeline", daemon=True).start()
    try:
        _run(orders, reporter, begin)
    except Exception as error:  # noqa: BLE001 - any failure is reported to the dashboard
        reporter.send(_failure(error, root, reporter.now()))
        sys.exit(_FAILED)


def _failure(error: Exception, root: Path, now: float) -> Failed:
    """Return why the operator does not run, and where."""
    from steersman.errors import SteersmanError

    if isinstance(error, click.ClickException):
        cause = error.__cause__
        if cause is None:
            return Failed(now, error.format_message())
        return Failed(now, text_of(cause), place_of(cause, root))
    text = str(error) if isinstance(error, SteersmanError) else text_of(error)
    return Failed(now, text, place_of(error, root))


def _hold(lifeline: int, begin: threading.Event) -> None:
    """Wait for the byte, then for the other end of the pipe to be closed; then stop, politely first."""
    while os.read(lifeline, 1):
        begin.set()
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(_ORPHANED)
    os._exit(_FAILED)


def _run(orders: Orders, reporter: Reporter, begin: threading.Event) -> None:
    import asyncio

    from steersman.cli.loop import loop_factory
    from steersman.cli.target import load_operator
    from steersman.manager import definitions, main  # noqa: F401 - loaded, and their bytecode kept, before the author's

    # Bytecode is valid for a file's second and size: two quick saves of equal length would run the first.
    sys.dont_write_bytecode = True
    operator = load_operator(orders.target)
    controllers = [reconciler.name for reconciler in operator.reconcilers]
    reporter.send(Loaded(operator.name, controllers, list(kinds_of(operator))))
    begin.wait()
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_operate(operator, orders, reporter))


def kinds_of(operator: "Operator") -> Iterable[Kind]:
    """Yield every kind that an operator watches, its own first; several versions of a kind are one."""
    from steersman.objects.resource import resource_of

    options = [reconciler.options for reconciler in operator.reconcilers]
    owned = (kind for one in options for kind in one.owns)
    watched = (watch.kind for one in options for watch in one.watches)
    resources = map(resource_of, [*operator.kinds, *owned, *watched])
    yield from dict.fromkeys(Kind(one.gvk.kind, one.gvr.group_resource) for one in resources)


def _web_view(make_actions: "Callable[[ReconcileNow], Actions]", plans: "Plans") -> "WebViewServing | None":
    """Return how the web view is served; the token is taken out of the environment, which other processes inherit."""
    from steersman.manager.web_view import WebViewServing
    from steersman.serving.server import Listen
    from steersman.webview.access import AccessRules

    port, _, token = os.environ.pop(WEB_VIEW, "").partition(":")
    if not token:
        return None
    return WebViewServing(
        listen=Listen(port=int(port)),
        access=AccessRules(token=token),
        on_ready=lambda _: None,
        make_actions=make_actions,
        plans=plans,
    )


async def _operate(operator: "Operator", orders: Orders, reporter: Reporter) -> None:
    import socket

    from steersman.cli.dev.injected_faults import InjectedFaults
    from steersman.cli.dev.movable_clock import MovableClock
    from steersman.cli.dev.page_actions import PageActions
    from steersman.cli.plan.page_plans import PagePlans
    from steersman.cli.webhook_listener import WebhookServing
    from steersman.client.client import Client
    from steersman.manager.main import DevelopmentHooks, run_operators
    from steersman.manager.manager import ManagerOptions
    from steersman.manager.process.signals import stop_on_signals
    from steersman.transport.config import ClusterConfig

    real = RealClock()
    clock, faults = MovableClock(real), InjectedFaults(real)
    config = ClusterConfig.from_kubeconfig(Path(orders.kubeconfig))
    plans = PagePlans(lambda: [orders.target, "--kubeconfig", orders.kubeconfig], real)

    async def report(manager: "Manager") -> None:
        manager.history.listen(lambda run: reporter.send(Reconciled(run)))
        await manager.wait_ready()
        reporter.send(Running(reporter.now(), operator.name))
        await _report_queues(manager, reporter, real)

    async with (
        stop_on_signals() as stop,
        Client.connect_to(config, field_manager=_FIELD_MANAGER) as client,
    ):
        options = ManagerOptions(
            web_view=_web_view(lambda reconcile: PageActions(client, reconcile, faults, clock, real), plans),
            install_crds=True,
            record={operator.name: orders.target},
            grace=GRACE,
            instance=socket.gethostname(),
            webhooks=WebhookServing().front([operator], is_local=True),
        )
        hooks = DevelopmentHooks(clock=clock, wrap=faults.around)
        await run_operators([operator], config, options, stop, beside=report, development=hooks)


async def _report_queues(manager: "Manager", reporter: Reporter, clock: Clock) -> None:
    """Report the length of the queues whenever it changes."""
    told: dict[str, Queue] = {}
    while True:
        queues = queues_of(manager)
        if queues != told:
            reporter.send(Queues(queues))
            told = queues
        await clock.sleep(_LOOK_EVERY)


def queues_of(manager: "Manager") -> dict[str, Queue]:
    """Return how much work each controller has."""
    found = {}
    for controller in manager.controllers:
        now = controller.queue.statistics()
        found[controller.reconciler.name] = Queue(sum(now.ready.values()), now.running, now.delayed)
    return found


if __name__ == "__main__":
    main()
