"""A terminal for a command: both ends of it, and the program that makes it the controlling one.

As a program (``python terminal.py PROGRAM ARGUMENT…``) it makes its standard input the terminal that controls the
session, which only a process of the session can do, and becomes the command.
"""

import fcntl
import os
import struct
import sys
import termios
from collections.abc import Sequence


def open_terminal() -> tuple[int, int]:
    """Return the near end, which is read and written here, and the far end for the process."""
    return os.openpty()


def resize(descriptor: int, width: int, height: int) -> None:
    """Set the size of a terminal."""
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", height & 0xFFFF, width & 0xFFFF, 0, 0))


def on_terminal(arguments: Sequence[str]) -> list[str]:
    """Return the command that runs a command on the terminal that it is handed."""
    return [sys.executable, "-I", "-S", __file__, *arguments]


if __name__ == "__main__":
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.execv(sys.argv[1], sys.argv[1:])  # noqa: S606 - what the node was asked to run, from its own image map
