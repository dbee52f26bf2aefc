"""What a planned operator prints and logs: on standard error, without the contents of Secrets.

Standard output is the plan's alone: programs read it.
"""

import io
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import TextIO


class MaskedStream(io.TextIOBase):
    """Writes texts to another stream after masking them."""

    def __init__(self, inner: TextIO, mask: Callable[[str], str]) -> None:
        super().__init__()
        self._inner = inner
        self._mask = mask

    def write(self, text: str) -> int:
        """Write a text, masked."""
        self._inner.write(self._mask(text))
        return len(text)

    def flush(self) -> None:
        """Flush the other stream."""
        self._inner.flush()

    def writable(self) -> bool:
        """Return that texts can be written."""
        return True

    def isatty(self) -> bool:
        """Return whether the other stream is a terminal."""
        return self._inner.isatty()


@contextmanager
def operator_output(mask: Callable[[str], str], *, verbose: bool) -> Iterator[None]:
    """Send what is printed inside the block to standard error, and with ``verbose`` also what is logged."""
    stream = MaskedStream(sys.stderr, mask)
    logs = _shown_logs(stream) if verbose else _hidden_logs()
    with _masked_handlers(stream), logs, redirect_stdout(stream), redirect_stderr(stream):
        yield


@contextmanager
def _masked_handlers(stream: MaskedStream) -> Iterator[None]:
    """Redirect the handlers that the operator's module has set up, which hold the streams of the process."""
    own = (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)
    loggers = [logging.getLogger(), *map(logging.getLogger, list(logging.root.manager.loggerDict))]
    found = [
        (handler, handler.stream)
        for handler in dict.fromkeys(handler for logger in loggers for handler in logger.handlers)
        if isinstance(handler, logging.StreamHandler) and handler.stream in own
    ]
    for handler, _ in found:
        handler.setStream(stream)
    try:
        yield
    finally:
        for handler, before in found:
            handler.setStream(before)


@contextmanager
def _hidden_logs() -> Iterator[None]:
    from steersman.manager.process.logs import quiet_logs

    with quiet_logs():
        yield


@contextmanager
def _shown_logs(stream: MaskedStream) -> Iterator[None]:
    from steersman.manager.process.logs import TextFormatter

    handler = logging.StreamHandler(stream)
    handler.setFormatter(TextFormatter())
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
