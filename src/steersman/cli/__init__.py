"""The command `steer`. A command's module is imported when the command is used: `steer --help` stays fast."""

from importlib import import_module

import click

from steersman.version import __version__

#: Every command and what it is for, in the order of ``steer --help``.
_COMMANDS = {
    "server": "Run a Kubernetes API on this machine, for development and tests.",
}


class _Commands(click.Group):
    """Knows its commands by name and loads one when it is called for."""

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


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="steer")
def main() -> None:
    """Build, run and test Kubernetes operators."""
