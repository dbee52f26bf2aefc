"""`steer dev`: everything that an operator's author needs in one terminal, started anew when a file is saved."""

import sys
from pathlib import Path

import click

from steersman.cli.parameters import PORT

_FOLDER = click.Path(file_okay=False, exists=True, path_type=Path)
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("dev", short_help="Develop: API server, operator, reload.")
@click.argument("path", type=_FOLDER, default=Path())
@click.option("--operator", "target", metavar="MODULE:OPERATOR", help="Default: the project's.")
@click.option("--plain", is_flag=True, help="Lines instead of a screen.")
@click.option("--data", type=click.Path(file_okay=False, path_type=Path), help="Directory to keep the cluster in.")
@click.option("--kubeconfig", type=_FILE, help="For kubectl; default: PATH/.steer/kubeconfig.")
@click.option("--port", type=PORT, default=0, help="Port of the API; default: a free one.")
@click.option("--node", type=click.Choice(["simulated", "process"]), help="What runs pods; default: see above.")
@click.option("--verbose", "-v", is_flag=True, help="Log more.")
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
    """Run a small cluster and the operator of the project in PATH, and start the operator anew on every save.

    The cluster has an API server, the controllers of workloads and a node. The node pretends to run pods; where
    pyproject.toml has [tool.steersman.images], it runs them as processes of this machine. The cluster is gone at the
    end, unless --data keeps it. kubectl in another terminal reaches it by the KUBECONFIG that is shown. Ctrl-C ends it
    all with exit code 0; a second Ctrl-C does not wait.

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
        project_target(root)  # whoever is in the wrong folder is told before anything is started

    async def run() -> None:
        await Session(options, RealClock()).run()

    gc.disable()  # until the server is up: all that is made now stays
    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(run())
    finally:
        gc.enable()
