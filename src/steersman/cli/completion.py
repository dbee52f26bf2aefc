"""`steer completion SHELL`: the lines that make a shell complete commands and options."""

import click


@click.command("completion", short_help="Let your shell complete commands.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the script with which a shell completes the commands and options of steer.

    \b
    Examples:
      $ echo 'eval "$(steer completion bash)"' >> ~/.bashrc
      $ steer completion fish > ~/.config/fish/completions/steer.fish
    """
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    if found is None:
        raise click.ClickException(f"there is no completion for {shell}")
    click.echo(found(ctx.find_root().command, {}, "steer", "_STEER_COMPLETE").source())
