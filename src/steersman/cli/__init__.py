"""The command `steer`. A command's module is imported when the command is used: `steer --help` stays fast."""

import os
import sys
from importlib import import_module
from typing import Any

import click

from steersman.version import __version__

#: What a shell sees when a program was ended by Ctrl-C.
_INTERRUPTED = 130
#: Every command and what it is for, in the order of ``steer --help``.
_COMMANDS = {
    "init": "Begin a project in this folder.",
    "create": "Add a kind or webhooks to the project.",
    "dev": "Develop an operator: an API server, reload, all in one terminal.",
    "run": "Run an operator.",
    "install": "Create or update the definitions in a cluster.",
    "migrate": "Bring stored objects to the stored version.",
    "uninstall": "Remove the definitions from a cluster.",
    "deploy": "Deploy the operator to a cluster.",
    "undeploy": "Remove the operator from a cluster.",
    "image": "Build and push the operator's image.",
    "samples": "Try the project's samples.",
    "manifests": "Write the operator's manifests.",
    "chart": "Write a Helm chart.",
    "bundle": "Write a bundle for the Operator Lifecycle Manager.",
    "generate": "Write classes for other people's kinds.",
    "doctor": "Find out what is wrong.",
    "server": "Run a Kubernetes API on this machine, for development and tests.",
    "completion": "Let your shell complete commands.",
}


#: What was named cannot be used: an option, a file, a declaration.
_UNUSABLE = 2
#: A fault of the command itself.
_FAULT = 70


def _told(error: Exception) -> tuple[str, int]:
    """Say in one sentence what went wrong, and give the exit code for it."""
    from steersman.errors import ConfigError, DeclarationError, DecodeError, SteersmanError

    if isinstance(error, ConfigError | DeclarationError | DecodeError):
        return str(error), _UNUSABLE
    if isinstance(error, SteersmanError):
        return str(error), 1
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error), 1
    return f"{type(error).__name__}: {error} (steer --debug … shows where)", _FAULT


class _Commands(click.Group):
    """Knows its commands by name and loads one when it is called for."""

    #: Whether a failure shows its traceback.
    debug = False

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run a command as a program does: whatever is wrong with it is told in one line."""
        extra["standalone_mode"] = False
        try:
            sys.exit(super().main(*args, **extra))
        except click.ClickException as error:
            if self.debug and error.__cause__ is not None:
                raise
            click.echo(f"steer: {error.format_message()}", err=True)
            sys.exit(error.exit_code)
        except click.Abort:
            sys.exit(_INTERRUPTED)
        except Exception as error:
            if self.debug:
                raise
            message, code = _told(error)
            click.echo(f"steer: {message}", err=True)
            sys.exit(code)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands."""
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command."""
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"steersman.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without loading them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="steer")
@click.option("--debug", is_flag=True, help="Show the traceback of a failure.")
@click.pass_context
def main(ctx: click.Context, *, debug: bool) -> None:
    """Build, run and test Kubernetes operators.

    \b
    Exit codes: 0 done, 1 failed, 2 cannot be used as given, 3 leadership lost,
    70 a fault of steer itself, 130 interrupted.
    """
    if os.environ.get("NO_COLOR"):
        ctx.color = False
    if isinstance(ctx.command, _Commands):
        ctx.command.debug = debug
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
