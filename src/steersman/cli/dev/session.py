"""One `steer dev`: a cluster in this process, the operator in another, restarted when a file changes.

The kubeconfig is locked first. Then the operator's process loads its modules while the server starts here, and starts
as soon as the server is ready. The operator is stopped first, the server last, and afterwards nothing is left but what
the user asked to keep.
"""

import asyncio
import gc
import logging
import os
import shlex
import signal
import socket
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steersman.cli.dev.announcement import announced
from steersman.cli.dev.kubeconfig_file import OWN_FOLDER, KubeconfigFile, kubeconfig_file
from steersman.cli.dev.local_cluster import local_cluster
from steersman.cli.dev.log_reports import ReportHandler
from steersman.cli.dev.operator_process import Start, operator_process
from steersman.cli.dev.project_files import FileWatch, ProjectFiles
from steersman.cli.dev.reports import Changed, Failed, Report
from steersman.cli.dev.view.controls import Controls
from steersman.cli.dev.view.dashboard_state import DashboardState
from steersman.cli.dev.view.object_counts import Count, ObjectCounts
from steersman.cli.dev.view.plain_view import PlainView
from steersman.cli.dev.view.texts import failure
from steersman.cli.dev.view.view import DeferredView, View
from steersman.cli.target import project_target
from steersman.cli.webhooks import DeferredWebhookCalls, webhook_options
from steersman.clock import Clock
from steersman.concurrency import background
from steersman.errors import ConfigError
from steersman.manager.process.signals import stop_on_signals
from steersman.webview.access import new_token

if TYPE_CHECKING:
    from steersman.apiserver.local import LocalServer
    from steersman.cli.dev.view.screen import Screen, ServerAddress
    from steersman.localcluster.process_node.options import ProcessNodeOptions

#: Objects between garbage collections: a server creates many short-lived ones and hardly any cycles.
_COLLECT_AFTER = (50_000, 20, 50)
#: Seconds between two pictures at least, and at most.
_FASTEST, _SLOWEST = 0.1, 1.0
#: Kinds that are shown if they have objects, although the operator does not watch them.
_WORKLOADS = (
    ("Deployment", "deployments.apps"),
    ("StatefulSet", "statefulsets.apps"),
    ("DaemonSet", "daemonsets.apps"),
    ("ReplicaSet", "replicasets.apps"),
    ("CronJob", "cronjobs.batch"),
    ("Job", "jobs.batch"),
    ("Pod", "pods"),
    ("Service", "services"),
    ("PersistentVolumeClaim", "persistentvolumeclaims"),
)
#: Objects that every cluster has.
_GIVEN = {"services": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class DevOptions:
    """The options of the command."""

    #: The project's folder, and ``module:name`` of its operator; by default as in ``pyproject.toml``.
    root: Path
    target: str | None
    kubeconfig: Path
    port: int
    data: Path | None
    is_plain: bool
    verbose: bool
    #: Which node runs pods: ``process``, ``simulated``, or by whether the project has images that processes stand for.
    node: str | None = None


class Session:
    """Runs `steer dev`. Reports change the dashboard, which the view shows."""

    def __init__(self, options: DevOptions, clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self._dashboard = DashboardState(_name_of(options))
        self._controls = Controls()
        self._news = asyncio.Event()
        self._view = DeferredView()
        self._kubeconfig: KubeconfigFile | None = None
        #: Port and token of the web view, the same for every start of the operator.
        self._web_view = (_free_port(), new_token())
        self._object_counts: ObjectCounts | None = None
        self._process: asyncio.subprocess.Process | None = None
        #: Set when the operator was first started, and when the API answers.
        self._tried = asyncio.Event()
        self._served = asyncio.Event()
        self._started = clock.monotonic()

    async def run(self) -> None:
        """Run until Ctrl-C or SIGTERM; a second one ends it at once."""
        options = self._options
        calls = DeferredWebhookCalls()
        async with AsyncExitStack() as stack:
            stop = await stack.enter_async_context(stop_on_signals(at_once=self._abandon))
            self._kubeconfig = file = stack.enter_context(
                kubeconfig_file(options.kubeconfig, keep=options.data is not None)
            )
            stack.enter_context(announced(options.kubeconfig))
            stack.push_async_callback(calls.close)
            async with background(self._supervise(), name="supervisor"):
                await self._tried.wait()
                server = await stack.enter_async_context(self._serve(calls))
                file.write(server.access.kubeconfig())
                self._served.set()
                self._object_counts = ObjectCounts(server.api.objects, self._news.set)
                self._log_here()
                stack.callback(self._view.close)
                self._view.open(self._make_view(server))
                cluster = local_cluster(server, self._clock, self._process_node(), keep=options.data is not None)
                async with background(self._draw_again(), name="face"), cluster:
                    _collect_seldom()
                    await stop.wait()

    def _serve(self, calls: DeferredWebhookCalls) -> AbstractAsyncContextManager["LocalServer"]:
        # Loaded here, while the operator's process is loading too.
        from steersman.apiserver.local import LocalOptions, local_server

        options = self._options
        return local_server(LocalOptions(port=options.port, data=options.data, webhooks=webhook_options(calls)))

    def _process_node(self) -> "ProcessNodeOptions | None":
        """Return how pods become processes, if they shall."""
        from steersman.localcluster.process_node.options import ProcessNodeOptions
        from steersman.scaffold.project import images_of

        options = self._options
        images = images_of(options.root)
        if options.node == "simulated" or (options.node is None and not images):
            return None
        place = (options.data or options.root / OWN_FOLDER) / "node"
        return ProcessNodeOptions(images=images, root=options.root, data=place)

    # The operator.

    async def _supervise(self) -> None:
        """Start the operator, and restart it whenever a file has changed."""
        options = self._options
        while True:
            target = self._target()
            package = target.partition(":")[0].partition(".")[0]
            watch = FileWatch(ProjectFiles(options.root, package), self._clock)
            if not target:
                self._tried.set()
                await self._wait_changed(watch)
                continue
            start = Start(
                root=options.root,
                target=target,
                kubeconfig=options.kubeconfig,
                verbose=options.verbose,
                web_view=self._web_view,
            )
            async with operator_process(start, self._take, self._clock, served=self._served) as self._process:
                self._tried.set()
                await self._wait_changed(watch)

    async def _wait_changed(self, watch: FileWatch) -> None:
        files = await watch.wait_changed()
        self._take(Changed(self._now(), files))

    def _target(self) -> str:
        """Return the operator that the project names now; an empty text, and word of it, where it names none."""
        try:
            return self._options.target or project_target(self._options.root)
        except (ConfigError, click.UsageError) as error:
            self._take(Failed(self._now(), str(error)))
            return ""

    # Showing.

    def _take(self, report: Report) -> None:
        self._dashboard.take(report)
        self._view.take(report)
        self._news.set()

    async def _draw_again(self) -> None:
        """Draw when there is news, and every second, because time is shown; but no more often than the fastest rate."""
        while True:
            with suppress(TimeoutError):
                async with self._clock.timeout(_SLOWEST):
                    await self._news.wait()
            self._news.clear()
            self._view.refresh()
            await self._clock.sleep(_FASTEST)

    def _make_view(self, server: "LocalServer") -> View:
        export = f"export KUBECONFIG={shlex.quote(str(self._options.kubeconfig))}"
        url = server.access.url
        web_view = f"http://127.0.0.1:{self._web_view[0]}/#token={self._web_view[1]}"
        if self._options.is_plain:
            return PlainView(f"Kubernetes API at {url} (for development and tests): {export}\nweb view: {web_view}")
        from rich.console import Console

        from steersman.cli.dev.view.live_view import LiveView
        from steersman.cli.dev.view.screen import ServerAddress

        address = ServerAddress(url, export, web_view)
        return LiveView(Console(), lambda: self._screen(address), self._farewell, self._on_key)

    def _screen(self, address: "ServerAddress") -> "Screen":
        from steersman.cli.dev.view.screen import Screen

        age = self._clock.monotonic() - self._started
        return Screen(self._dashboard, address, self._counts(), age, self._clock.now(), self._controls)

    def _on_key(self, key: str) -> None:
        self._controls.press(key)
        self._news.set()

    def _counts(self) -> list[tuple[str, Count]]:
        """Count the kinds that the operator watches, then the existing workloads."""
        if self._object_counts is None:
            return []
        shown = [(kind.kind, kind.resource) for kind in self._dashboard.kinds]
        found = [(kind, self._object_counts.count(resource)) for kind, resource in shown]
        more = [(kind, resource) for kind, resource in _WORKLOADS if (kind, resource) not in shown]
        counts = [(kind, self._object_counts.count(resource), _GIVEN.get(resource, 0)) for kind, resource in more]
        return found + [(kind, count) for kind, count, given in counts if count.total > given]

    def _farewell(self) -> str:
        """Return the summary that is printed after the screen is closed."""
        done = sum(work.runs for work in self._dashboard.work.values())
        problem = self._dashboard.problem
        last = "" if problem is None else f"; last error: {failure(Failed(0, problem.text, problem.place))}"
        kept = "" if self._options.data is None else f"; the cluster is kept in {self._options.data}"
        return f"{self._dashboard.name}: stopped after {done} reconciles{last}{kept}"

    def _log_here(self) -> None:
        """Show the log lines of this process, those of the server, with those of the operator."""
        level = logging.INFO if self._options.verbose else logging.WARNING
        logging.getLogger().handlers[:] = [ReportHandler(self._take, self._options.root, level)]
        logging.getLogger().setLevel(level)

    def _now(self) -> float:
        return self._clock.now().timestamp()

    def _abandon(self) -> None:
        """Exit at once: nothing is finished, but nothing is left behind either."""
        self._view.close()
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        if self._kubeconfig is not None and self._options.data is None:
            self._kubeconfig.remove()


def _collect_seldom() -> None:
    """Collect garbage rarely, as a server should; existing objects are frozen."""
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)
    gc.enable()


def _name_of(options: DevOptions) -> str:
    """Return the name of the operator before it is loaded."""
    return options.root.resolve().name


def _free_port() -> int:
    """Return a port that is free now; the operator listens on it again after each restart."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port
