"""`steer dev`: a local cluster and the operator in one terminal, restarted when a file is saved.

`session` runs the API server and the cluster (`local_cluster`) in this process, and the operator in another one:
`operator_process` starts and stops it, `child` is what runs there. The child sends `reports` through a pipe, which the
``view/`` shows. `project_files` notices changed files, `kubeconfig_file` writes the kubeconfig for kubectl.
"""

import sys
from pathlib import Path

import click

from steersman.cli.parameters import PORT

_FOLDER = click.Path(file_okay=False, exists=True, path_type=Path)
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("dev", short_help="Run the operator on a local cluster and restart it on every save.")
@click.argument("path", type=_FOLDER, default=Path())
@click.option("--operator", "target", metavar="MODULE:OPERATOR", help="Operator to run; default: the project's.")
@click.option("--plain", is_flag=True, help="Print lines instead of a full screen.")
@click.option(
    "--data", type=click.Path(file_okay=False, path_type=Path), help="Directory that keeps the cluster's data."
)
@click.option("--kubeconfig", type=_FILE, help="File to write for kubectl; default: PATH/.steer/kubeconfig.")
@click.option("--port", type=PORT, default=0, help="Port of the API server; default: a free one.")
@click.option("--node", type=click.Choice(["simulated", "process"]), help="Simulate pods or run them as processes.")
@click.option("--verbose", "-v", is_flag=True, help="Log at the debug level.")
def command(  # noqa: PLR0913 - the options of the command, each by its name
    path: Path,
    *,
    target: str | None,
    plain: bool,
    data: Path | None,
    kubeconfig: Path | None,
    port: int,
    node: str | None,
    verbose: bool,
) -> None:
    """Run a local cluster and the operator of the project in PATH, and restart the operator on every save.

    The cluster has an API server, the controllers of workloads and a node; CRDs and webhooks are installed at every
    restart. The node simulates pods; with [tool.steersman.images] in pyproject.toml it runs them as processes of this
    machine. The cluster is deleted at the end, unless --data keeps it. Use kubectl in another terminal with the
    KUBECONFIG that is shown. Ctrl-C stops everything with exit code 0; a second Ctrl-C stops at once.

    \b
    Examples:
      $ steer dev
      $ steer dev examples/custompod --plain
    """
    import asyncio
    import gc

    from steersman.cli.dev.kubeconfig_file import OWN_FOLDER
    from steersman.cli.dev.session import DevOptions, Session
    from steersman.cli.loop import loop_factory
    from steersman.cli.target import project_target
    from steersman.clock import RealClock

    root = path.resolve()
    options = DevOptions(
        root=root,
        target=target,
        kubeconfig=(kubeconfig or root / OWN_FOLDER / "kubeconfig").absolute(),
        port=port,
        data=None if data is None else data.absolute(),
        is_plain=plain or not sys.stdout.isatty(),
        verbose=verbose,
        node=node,
    )
    if target is None:
        project_target(root)  # a wrong folder is an error before anything is started

    async def run() -> None:
        await Session(options, RealClock()).run()

    gc.disable()  # until the server is up: the objects created now live until the end
    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(run())
    finally:
        gc.enable()
