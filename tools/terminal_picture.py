"""Draw ``docs/images/steer-dev.svg``: the screen of ``steer dev`` on an example, from a real run in a terminal.

``python -m tools.terminal_picture``, part of ``make screenshots``.
"""

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from io import StringIO
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "steer-dev.svg"
_COLUMNS, _LINES = 100, 20
#: Seconds until the screen shows everything, on a slow machine.
_PATIENCE = 60.0
_HOME = b"\x1b[H"
#: The screen when the sample is ready and its last reconcile is listed.
_DONE = b"Pod        \x1b[32m  3/3"


def main() -> None:
    """Run ``steer dev`` in a copy of the example, scale the sample to three, and draw the last screen."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "custompod")
        shutil.copytree(ROOT / "examples" / "custompod", folder, ignore=shutil.ignore_patterns(".steer", "__pycache__"))
        frame = _last_frame(folder)
    shown = re.sub(rb"token=\w+", b"token=...", frame.replace(f"{scratch}/".encode(), b"~/")).decode()
    lines = [line.rstrip() for line in shown.replace("\r", "").split("\n")]
    while not Text.from_ansi(lines[-1]).plain.strip():
        lines.pop()
    console = Console(record=True, width=_COLUMNS, file=StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi("\n".join(lines)), no_wrap=True, crop=True)
    # The original refers to a font on the web.
    form = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    svg = console.export_svg(title="steer dev", code_format=form, unique_id="steer-dev")
    PICTURE.write_text("\n".join(line.rstrip() for line in svg.splitlines()) + "\n", encoding="utf-8")


def _last_frame(folder: Path) -> bytes:
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", _LINES, _COLUMNS, 0, 0))
    unset = ("COLUMNS", "LINES", "NO_COLOR")
    environment = {name: value for name, value in os.environ.items() if name not in unset} | {"TERM": "xterm-256color"}
    with subprocess.Popen(
        [sys.executable, "-m", "steersman.cli", "dev"],
        cwd=folder,
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=environment,
        start_new_session=True,
    ) as process:
        shown = _read_until(leader, b"running")
        _kubectl(folder, "apply", "-f", "samples/")
        _kubectl(folder, "scale", "custompod/custompod-sample", "--replicas=3")
        shown += _read_until(leader, _DONE)
        # The reconcile that noticed the last pod is in the next frames.
        shown += _read_until(leader, _HOME, times=8)
        process.send_signal(signal.SIGINT)
    return shown.split(_HOME)[-2]


def _kubectl(folder: Path, *arguments: str) -> None:
    kubeconfig = folder / ".steer" / "kubeconfig"
    command = ["kubectl", "--kubeconfig", kubeconfig, *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)  # noqa: S603 - our own command


def _read_until(terminal: int, text: bytes, *, times: int = 1) -> bytes:
    shown = b""
    limit = time.monotonic() + _PATIENCE
    while shown.count(text) < times:
        readable, _, _ = select.select([terminal], [], [], max(0.0, limit - time.monotonic()))
        if not readable:
            sys.exit(f"steer dev did not show {text!r} within {_PATIENCE:.0f} s:\n{shown.decode(errors='replace')}")
        shown += os.read(terminal, 65536)
    return shown


if __name__ == "__main__":
    main()
