"""`steer run MODULE:operator`: run an operator against any cluster or an embedded API server."""

import asyncio
import contextlib
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steersman.cli.loop import loop_factory
from steersman.cli.parameters import NAMESPACE, PORT, SECONDS
from steersman.cli.target import load_operator, project_target
from steersman.cli.webhook_listener import WebhookServing, webhook_serving_options
from steersman.cli.webhooks import DeferredWebhookCalls, webhook_options

if TYPE_CHECKING:
    from steersman.manager.clusters.provider import ClusterProvider
    from steersman.manager.manager import ManagerOptions
    from steersman.manager.operator import Operator
    from steersman.manager.web_view import WebViewServing
    from steersman.serving.server import Listen
    from steersman.transport.config import ClusterConfig

#: Objects of each kind that the web view plans: a plan shares the CPU and the memory of the operator's pod.
_PLANNED = "200"


class _Unusable(click.ClickException):
    """An argument of the user cannot be used."""

    exit_code = 2


@click.command("run", short_help="Run an operator: leader election, probes, metrics, webhooks.")
@click.argument("targets", metavar="[MODULE:OPERATOR]…", nargs=-1)
@click.option("--kubeconfig", type=click.Path(dir_okay=False, path_type=Path), help="Kubeconfig file of the cluster.")
@click.option("--context", "contexts", metavar="NAME", multiple=True, help="Context; repeat it for several clusters.")
@click.option("--cluster-secrets", metavar="NAME", type=NAMESPACE, help="Namespace of Secrets with kubeconfigs.")
@click.option(
    "--namespace",
    "-n",
    "namespaces",
    metavar="NAME",
    multiple=True,
    help="Namespace to watch; repeatable; default: all.",
)
@click.option("--install-crds", is_flag=True, help="Create or update the operator's CRDs first.")
@click.option("--leader-elect", is_flag=True, help="Take part in leader election.")
@click.option("--shards", type=click.IntRange(1, 256), metavar="N", help="Let up to N replicas share the work.")
@click.option("--processes", type=click.IntRange(1, 64), metavar="N", help="Divide the work among N processes.")
@click.option("--supervised", type=click.Path(path_type=Path), hidden=True)
@click.option(
    "--lease-namespace", metavar="NAME", type=NAMESPACE, help="Namespace of the Lease; default: the context's."
)
@click.option("--embedded", is_flag=True, help="Run on an API server inside this process.")
@click.option("--dev", is_flag=True, help="Log text instead of JSON.")
@click.option(
    "--metrics-host", metavar="HOST", default="127.0.0.1", help="Address of probes, metrics; default: 127.0.0.1."
)
@click.option("--metrics-port", type=PORT, help="Port of probes, metrics; default: not served.")
@click.option("--history-port", type=PORT, help="Port for steer why; default: 8082 in a pod.")
@click.option("--ui", is_flag=True, help="Serve the web view; print its address.")
@click.option("--ui-port", type=PORT, default=0, help="Port of the web view; default: a free one.")
@click.option("--record", is_flag=True, help="Record what reconciles read, for replays.")
@webhook_serving_options
@click.option("--grace", type=SECONDS, default=30.0, help="Time for running reconciles; default: 30.")
@click.option("--verbose", "-v", is_flag=True, help="Log at the debug level.")
def command(  # noqa: PLR0913 - the options of the command, each by its name
    targets: tuple[str, ...],
    *,
    kubeconfig: Path | None,
    contexts: tuple[str, ...],
    cluster_secrets: str | None,
    namespaces: tuple[str, ...],
    install_crds: bool,
    leader_elect: bool,
    shards: int | None,
    processes: int | None,
    supervised: Path | None,
    lease_namespace: str | None,
    embedded: bool,
    dev: bool,
    metrics_host: str,
    metrics_port: int | None,
    history_port: int | None,
    ui: bool,
    ui_port: int,
    record: bool,
    webhook_service: str | None,
    webhook_url: str | None,
    webhook_host: str,
    webhook_port: int,
    webhook_secret: str | None,
    webhook_certs: Path | None,
    grace: float,
    verbose: bool,
) -> None:
    """Run operators until SIGTERM or Ctrl-C; default: that of this project.

    The cluster is that of --kubeconfig, $KUBECONFIG, the pod's service account, or ~/.kube/config. A second signal
    stops the process at once.

    Exit codes: 0 stopped, 1 failed, 2 wrong usage, 3 lost lease, 4 too slow.

    \b
    Examples:
      $ steer run --embedded --dev
      $ steer run my_operator.main:operator --leader-elect --metrics-port 8080
    """
    from steersman.errors import ConfigError, LeadershipLost, SteersmanError
    from steersman.manager.manager import ManagerOptions
    from steersman.manager.process.logs import configure_logging

    webhooks = WebhookServing(
        service=webhook_service,
        url=webhook_url,
        host=webhook_host,
        port=webhook_port,
        secret=webhook_secret,
        certs=webhook_certs,
    )
    chosen = targets or (project_target(option="MODULE:OPERATOR"),)
    operators = [load_operator(target) for target in chosen]
    configure_logging(json=not dev, level=logging.DEBUG if verbose else logging.INFO)
    clusters = _Clusters(kubeconfig, contexts, cluster_secrets, operators[0])
    cluster = _Cluster(embedded=embedded, kubeconfig=kubeconfig, context=contexts[0] if contexts else None)
    probes = _probes(metrics_host, metrics_port, supervised)
    if processes is not None:
        sys.exit(_run_processes(processes, operators, shards, probes, _history(history_port, None)))
    options = ManagerOptions(
        namespaces=namespaces,
        install_crds=install_crds or embedded,
        probes=probes,
        history=_history(history_port, supervised),
        web_view=_web_view(ui_port, chosen, cluster, namespaces) if ui or ui_port else None,
        record=dict(zip([one.name for one in operators], chosen, strict=True)) if record else None,
        shards=shards,
        grace=grace,
        instance=socket.gethostname(),
        webhooks=webhooks.front(operators, is_local=embedded),
    )
    # Replicas of an operator with shards must know of each other.
    elects = leader_elect or shards or operators[0].shards
    lease = (lease_namespace or "") if elects else None
    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            if clusters.are_several:
                runner.run(_run_in_clusters(operators, options, clusters, lease))
            else:
                runner.run(_run(operators, options, cluster, lease))
    except ConfigError as error:
        raise _Unusable(str(error)) from None
    except LeadershipLost as error:
        from steersman.manager.process.forced_exit import LOST_LEADERSHIP

        click.echo(f"steer: {error}", err=True)
        sys.exit(LOST_LEADERSHIP)
    except SteersmanError as error:
        raise click.ClickException(str(error)) from None


#: Options that ``--processes`` itself needs, or that only its first process has.
_OF_PARENT = ("processes", "supervised", "shards", "leader_elect", "metrics_host", "metrics_port", "history_port")
_OF_FIRST = (
    "install_crds",
    "webhook_service",
    "webhook_url",
    "webhook_host",
    "webhook_port",
    "webhook_secret",
    "webhook_certs",
)
#: Number of shards if none is declared.
_SHARDS = 16


def _run_processes(
    count: int,
    operators: list["Operator"],
    shards: int | None,
    probes: "Listen | None",
    history: "tuple[Listen, ...]",
) -> int:
    """Run operators in several processes that share their shards; return the exit code."""
    from steersman.cli.processes import passed_on, run_processes

    context = click.get_current_context()
    for option in ("embedded", "ui"):
        if context.params[option]:
            raise click.UsageError(f"--{option} needs a single process: remove --processes")
    number = shards or operators[0].shards or max(_SHARDS, count)
    if count > number:
        raise click.UsageError(f"{count} processes cannot all work on {number} shards: pass --shards={count} or more")
    common = ["--leader-elect", f"--shards={number}"]
    first = [*passed_on(context, _OF_PARENT), *common]
    others = [*passed_on(context, (*_OF_PARENT, *_OF_FIRST)), *common]
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        grace: float = context.params["grace"]
        return runner.run(run_processes([first, *[others] * (count - 1)], probes, history, grace=grace))


def _probes(host: str, port: int | None, supervised: Path | None) -> "Listen | None":
    """Return where probes are answered; a process of ``--processes`` answers the one that started it."""
    from steersman.serving.server import Listen

    if supervised is not None:
        _stop_with_parent()
        return Listen(path=supervised)
    return None if port is None else Listen(host=host, port=port)


def _stop_with_parent() -> None:
    """Stop this process when the one that started it has ended: its end of the pipe closes then."""
    import signal
    import threading

    def wait() -> None:
        # Not by ``sys.stdin``: its lock, held by a thread that waits, would end the interpreter with an error.
        while os.read(0, 1):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="parent", daemon=True).start()


def _history(port: int | None, supervised: Path | None) -> tuple["Listen", ...]:
    """Return where a port-forward finds the history: a loopback port, by default only in a pod.

    A process of ``--processes`` answers the one that started it, which answers for all of them.
    """
    from steersman.manager.history_app import HISTORY_PORT
    from steersman.serving.server import Listen

    if supervised is not None:
        from steersman.cli.processes import history_socket

        return (Listen(path=history_socket(supervised)),)
    if port is None and "KUBERNETES_SERVICE_HOST" not in os.environ:
        return ()
    return (Listen(port=HISTORY_PORT if port is None else port),)


def _web_view(
    port: int, targets: tuple[str, ...], cluster: "_Cluster", namespaces: tuple[str, ...]
) -> "WebViewServing":
    from steersman.cli.plan.page_plans import PagePlans
    from steersman.clock import RealClock
    from steersman.manager.web_view import WebViewServing
    from steersman.serving.server import Listen
    from steersman.webview.access import AccessRules, new_token

    chosen = [text for name in namespaces for text in ("--namespace", name)]
    return WebViewServing(
        listen=Listen(port=port),
        access=AccessRules(token=new_token()),
        settings={"operators": " ".join(targets)},
        plans=PagePlans(lambda: [*targets, *cluster.arguments(), *chosen, "--limit", _PLANNED], RealClock()),
        on_ready=lambda url: click.echo(f"web view: {url}", err=True),
    )


class _Clusters:
    """The chosen clusters, if there may be several."""

    def __init__(
        self, kubeconfig: Path | None, contexts: tuple[str, ...], secrets: str | None, operator: "Operator"
    ) -> None:
        if secrets is not None and len(contexts) > 1:
            raise click.UsageError("--cluster-secrets are those of one hub cluster: pass a single --context")
        self._kubeconfig = kubeconfig
        self._contexts = contexts
        self._secrets = secrets
        params = click.get_current_context().params
        #: The author's own provider, unless the user names clusters.
        self._own = None if kubeconfig or contexts or secrets or params["embedded"] else operator.clusters
        if not self.are_several:
            return
        for option in ("embedded", "ui", "ui_port", "webhook_service", "webhook_url"):
            if params[option]:
                raise click.UsageError(f"--{option.replace('_', '-')} is for one cluster: remove it")

    @property
    def are_several(self) -> bool:
        """Whether the operator may work in more than one cluster."""
        return len(self._contexts) > 1 or self._secrets is not None or self._own is not None

    @contextlib.asynccontextmanager
    async def provider(self) -> AsyncIterator["ClusterProvider"]:
        """Yield what finds the clusters, connected to the hub cluster if there is one."""
        from steersman.manager.clusters.provider import ContextClusters

        if self._secrets is None:
            yield self._own or ContextClusters(self._contexts, kubeconfig=self._kubeconfig)
            return
        from steersman.clock import RealClock
        from steersman.informer.list_watch_driver import ApiConnection
        from steersman.manager.clusters.secrets import SecretClusters
        from steersman.randomness import Randomness
        from steersman.transport.config import ClusterConfig
        from steersman.transport.http.transport import HttpTransport

        hub = ClusterConfig.load(self._kubeconfig, context=self._contexts[0] if self._contexts else None)
        transport = HttpTransport(hub, clock=RealClock())
        try:
            yield SecretClusters(ApiConnection(transport, RealClock(), Randomness()), self._secrets)
        finally:
            await transport.close()


async def _run_in_clusters(
    operators: list["Operator"], options: "ManagerOptions", clusters: _Clusters, lease_namespace: str | None
) -> None:
    """Run in several clusters until stopped; with a namespace for the lease, even an empty one, each has a leader."""
    from dataclasses import replace

    from steersman.manager.leader.election import ElectionOptions
    from steersman.manager.main import run_in_clusters
    from steersman.manager.process.signals import stop_on_signals

    async with stop_on_signals(grace=options.grace) as stop, clusters.provider() as provider:
        if lease_namespace is not None:
            election = ElectionOptions(name=operators[0].name, namespace=lease_namespace, identity="")
            options = replace(options, election=election)
        await run_in_clusters(operators, provider, options, stop)


class _Cluster:
    """The chosen cluster."""

    def __init__(self, *, embedded: bool, kubeconfig: Path | None, context: str | None) -> None:
        if embedded and (kubeconfig or context):
            raise click.UsageError("--embedded starts its own cluster: remove --kubeconfig and --context")
        self._embedded = embedded
        self._kubeconfig = kubeconfig
        self._context = context

    def arguments(self) -> list[str]:
        """Return the options of other commands that name this cluster."""
        named = {"--kubeconfig": self._kubeconfig and self._kubeconfig.absolute(), "--context": self._context}
        return [text for option, value in named.items() if value for text in (option, str(value))]

    @contextlib.asynccontextmanager
    async def config(self) -> AsyncIterator["ClusterConfig"]:
        """Yield the configuration of the cluster; an embedded one exists as long as the block."""
        from steersman.transport.config import ClusterConfig

        if not self._embedded:
            yield ClusterConfig.load(self._kubeconfig, context=self._context)
            return
        import tempfile

        from steersman.apiserver.local import LocalOptions, local_server

        calls = DeferredWebhookCalls()
        options = LocalOptions(webhooks=webhook_options(calls))
        async with local_server(options) as server, contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(calls.close)
            with tempfile.TemporaryDirectory(prefix="steersman-") as directory:
                path = Path(directory) / "kubeconfig"
                path.touch(mode=0o600)
                path.write_bytes(server.access.kubeconfig())
                self._kubeconfig = path
                click.echo(f"Kubernetes API at {server.access.url} (embedded): export KUBECONFIG={path}", err=True)
                yield ClusterConfig.from_kubeconfig(path)


async def _run(
    operators: list["Operator"], options: "ManagerOptions", cluster: _Cluster, lease_namespace: str | None
) -> None:
    """Run until stopped; with a namespace for the lease, even an empty one, only the leader works."""
    from dataclasses import replace

    from steersman.manager.leader.election import ElectionOptions
    from steersman.manager.main import run_operators
    from steersman.manager.process.forced_exit import AFTER_GRACE, LOST_LEADERSHIP, force_exit_after
    from steersman.manager.process.signals import stop_on_signals
    from steersman.randomness import Randomness

    loop = asyncio.get_running_loop()

    def leave_soon() -> None:
        message = "the process ends by force: leadership was lost and not everything stopped"
        force_exit_after(AFTER_GRACE, LOST_LEADERSHIP, message, loop=loop)

    async with stop_on_signals(grace=options.grace) as stop, cluster.config() as config:
        if lease_namespace is not None:
            election = ElectionOptions(
                name=operators[0].name,
                namespace=lease_namespace or config.namespace,
                identity=f"{options.instance}_{Randomness().uid()}",
                on_lost=leave_soon,
            )
            options = replace(options, election=election)
        await run_operators(operators, config, options, stop)
