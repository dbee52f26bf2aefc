"""Transcripts: commands, and their expected output."""

import os
from pathlib import Path

import pytest

from steersman.errors import WaitTimeout
from steersman.testing.transcripts import Step, console_blocks, replay, steps_of


def test_a_transcript_is_commands_with_their_output() -> None:
    """A page shows it as a reader would see it."""
    steps = steps_of("$ echo a\na\n\n$ cat <<END\n> b\n> END\nb\n$ true\n")
    assert steps == [Step("echo a", ("a",)), Step("cat <<END\nb\nEND", ("b",)), Step("true")]


def test_a_transcript_begins_with_a_command() -> None:
    """Output without a command is a mistake of the page."""
    with pytest.raises(ValueError, match="begins with"):
        steps_of("created\n$ true\n")


@pytest.mark.parametrize(
    ("expected", "output", "fits"),
    [
        (("NAME AGE", "a …"), "NAME    AGE\na       3s\n", True),
        (("a-… Running",), "a-x7f Running\n", True),
        (("a",), "b\n", False),
        (("a",), "a\na\n", False),
        ((), "something\n", False),
        (("Name: a", "…", "Events: <none>"), "Name: a\nKind: B\nSpec: c\nEvents: <none>\n", True),
        (("Name: a", "…"), "Name: b\n", False),
        (("cost (1+1)",), "cost (1+1)\n", True),
    ],
)
def test_output_is_compared_line_by_line(expected: tuple[str, ...], output: str, *, fits: bool) -> None:
    """Widths, ages and random names differ each time; everything else must be equal."""
    assert Step("any", expected).fits(output) is fits


def test_the_console_blocks_of_a_page_are_found() -> None:
    """Other blocks are for other tests."""
    assert console_blocks("a\n```console\n$ true\n```\n```python\nx\n```\n```console\n$ false\n```\n") == [
        "$ true\n",
        "$ false\n",
    ]


async def test_commands_share_a_folder_and_what_was_exported(tmp_path: Path) -> None:
    """A reader types them in one terminal."""
    await replay("$ export COLOUR=blue\n$ echo $COLOUR > file\n$ cat file\nblue\n", folder=tmp_path)


async def test_a_command_is_repeated_until_its_output_matches(tmp_path: Path) -> None:
    """The effect of a command may take a moment."""
    await replay("$ echo x >> file; wc -l < file\n3\n", folder=tmp_path)


async def test_a_difference_is_shown_with_both_sides(tmp_path: Path) -> None:
    """The author of the page must see the current output."""
    with pytest.raises(WaitTimeout, match=r"(?s)echo b.*should print\na\nand prints\nb"):
        await replay("$ echo b\na\n", folder=tmp_path, within=0.01)


async def test_the_next_command_waits_for_the_first_output_of_one_in_the_background(tmp_path: Path) -> None:
    """A server is used when it is ready; a client that starts too early may give up."""
    server = "sh -c 'sleep 0.2; touch ready; echo ready; exec sleep 60'"
    await replay(f"$ {server} &\n$ test -e asked || (touch asked; test -e ready && echo up)\nup\n", folder=tmp_path)


async def test_a_command_in_the_background_runs_until_the_end(tmp_path: Path) -> None:
    """A server is started in one line and used in the next; nothing of it is left."""
    await replay("$ sh -c 'echo $$ > pid; exec sleep 60' &\n$ test -s pid && echo up\nup\n", folder=tmp_path)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
