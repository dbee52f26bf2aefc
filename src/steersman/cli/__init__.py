"""The command `steer`.

Each command is a module that is imported when it is used, so that `steer --help` is fast; `_COMMANDS` below lists them.
``project/`` has the commands that work on the project in the current folder (init, create, image, manifests),
``cluster/`` those that work on a cluster (install, deploy, doctor, migrate), and ``dev/`` is `steer dev`. `run` and
`server` run an operator and an API server. `target` finds the operator of a project.
"""

import os
import sys
from importlib import import_module
from typing import Any

import click

from steersman.version import __version__

#: Exit code of a program that was ended by Ctrl-C, as shells define it.
_INTERRUPTED = 130
#: Every command and its purpose, in the order of ``steer --help``.
_COMMANDS = {
    "init": "Create a project for an operator in this folder.",
    "create": "Add a kind (CRD), a reconciler or webhooks to the project.",
    "update": "Merge changes of the project template into the project.",
    "dev": "Run the operator on a local cluster; restart it on every save.",
    "run": "Run an operator: leader election, probes, metrics, webhooks.",
    "why": "Explain what a running operator does about an object, and why.",
    "replay": "Run recorded reconciles with other code; list what differs.",
    "pause": "Stop reconciling an object until it is resumed.",
    "resume": "Reconcile a paused object again.",
    "plan": "Show what the operator would do to a cluster, without doing it.",
    "simulate": "Run a scenario under every fault at every step.",
    "install": "Create or update the CRDs in a cluster.",
    "migrate": "Rewrite stored objects in the CRD's storage version.",
    "uninstall": "Delete the CRDs from a cluster.",
    "deploy": "Deploy the operator to a cluster, with CRDs, RBAC and webhooks.",
    "undeploy": "Remove the operator from a cluster; the CRDs stay.",
    "image": "Build and push the operator's container image.",
    "samples": "Apply the project's samples to a cluster.",
    "manifests": "Write CRDs, RBAC roles, webhooks and the Deployment as YAML.",
    "chart": "Write a Helm chart.",
    "bundle": "Write a bundle for the Operator Lifecycle Manager.",
    "generate": "Generate typed classes from existing CRDs.",
    "doctor": "Check Python, the project, CRDs, RBAC and webhooks; give advice.",
    "server": "Run a Kubernetes API server for development and tests.",
    "completion": "Print the completion script of a shell.",
}


#: Where a command is defined, unless it stands beside this module.
_ROOMS = {
    **dict.fromkeys(
        ("init", "create", "update", "image", "manifests", "chart", "bundle", "generate", "simulate"), "project."
    ),
    "why": "why.",
    "plan": "plan.",
    **dict.fromkeys(
        ("install", "uninstall", "deploy", "undeploy", "migrate", "samples", "doctor", "pause", "resume"),
        "cluster.",
    ),
}

#: Exit code for an option, a file or a declaration that cannot be used.
_UNUSABLE = 2
#: Exit code for an error in `steer` itself.
_FAULT = 70


def _message_and_code(error: Exception) -> tuple[str, int]:
    """Return one sentence that describes the error, and the exit code."""
    from steersman.errors import ConfigError, ConnectionFailed, DeclarationError, DecodeError, SteersmanError

    if isinstance(error, ConfigError | DeclarationError | DecodeError):
        return str(error), _UNUSABLE
    if isinstance(error, ConnectionFailed) and not isinstance(error.__cause__, SteersmanError):
        return f"{error}; check the address, and that the server runs", 1
    if isinstance(error, SteersmanError):
        return str(error), 1
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error), 1
    return f"{type(error).__name__}: {error} (steer --debug … shows where)", _FAULT


def _with_help(error: click.ClickException) -> str:
    """Return the message of an error; after a missing or unknown name, also the command that lists the valid ones."""
    message = error.format_message()
    is_unknown = isinstance(error, click.MissingParameter | click.NoSuchOption) or message.startswith("No such command")
    if not is_unknown or not isinstance(error, click.UsageError) or error.ctx is None:
        return message
    return f"{message.rstrip('.')}; see '{error.ctx.command_path} --help'"


class _Commands(click.Group):
    """The commands by name; a command is loaded when it is called."""

    #: Whether a failure shows its traceback.
    debug = False

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run a command and exit; an error is printed in one line."""
        extra["standalone_mode"] = False
        try:
            sys.exit(super().main(*args, **extra))
        except click.ClickException as error:
            if self.debug and error.__cause__ is not None:
                raise
            click.echo(f"steer: {_with_help(error)}", err=True)
            sys.exit(error.exit_code)
        except click.Abort:
            sys.exit(_INTERRUPTED)
        except Exception as error:
            if self.debug:
                raise
            message, code = _message_and_code(error)
            click.echo(f"steer: {message}", err=True)
            sys.exit(code)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command."""
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"steersman.cli.{_ROOMS.get(cmd_name, '')}{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without loading them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


def _show_version(ctx: click.Context, _: click.Parameter, is_asked: bool) -> None:
    """Print the version with the commit and the Python, as bug reports need them, and exit."""
    from steersman.cli.build_commit import commit

    if is_asked:
        built_from = f" (commit {short})" if (short := commit()[:12]) else ""
        click.echo(f"steer {__version__}{built_from}, Python {sys.version.split()[0]}")
        ctx.exit()


@click.group(cls=_Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Show the version."
)
@click.option("--debug", is_flag=True, help="Show the traceback of a failure.")
@click.pass_context
def main(ctx: click.Context, *, debug: bool) -> None:
    """Build, run and test Kubernetes operators.

    An operator is a set of custom resources (CRDs) and reconcilers; informers, finalizers, admission and conversion
    webhooks, RBAC roles and leader election are derived from them.

    \b
    Exit codes: 0 success, 1 failure, 2 invalid option, file or declaration,
    3 leader election lost, 4 did not stop within --grace, 70 a bug in steer,
    130 interrupted by Ctrl-C.
    """
    if os.environ.get("NO_COLOR"):
        ctx.color = False
    if isinstance(ctx.command, _Commands):
        ctx.command.debug = debug
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
