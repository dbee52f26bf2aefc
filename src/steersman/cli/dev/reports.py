"""Reports about an operator under development: typed values, and the lines in which they are sent.

The operator runs in a separate process and writes one report per line, as JSON, into a pipe. The parent process uses
the same form, so that a view needs to know only reports.
"""

from typing import TypeAlias

from msgspec import Struct, ValidationError
from msgspec.json import Decoder, Encoder

from steersman.history.records import Reconcile
from steersman.json_types import JsonObject

#: Length of the longest line in bytes; a longer one is reported as such.
_LONGEST = 1 << 20


class Kind(Struct, frozen=True, tag=False):
    """A kind that an operator looks at: its name, and how its resource is called (``pods``, ``deployments.apps``)."""

    kind: str
    resource: str


class Queue(Struct, frozen=True, tag=False):
    """How much work one controller has: keys that are ready, being worked on, and waiting for their time."""

    ready: int = 0
    running: int = 0
    waiting: int = 0


class Loaded(Struct, frozen=True, tag="loaded"):
    """The operator's modules were imported."""

    operator: str
    controllers: list[str]
    kinds: list[Kind]


class Running(Struct, frozen=True, tag="running"):
    """Every controller of the operator runs."""

    at: float
    operator: str


class Reconciled(Struct, frozen=True, tag="reconciled"):
    """One run of a reconciler is over: its record in the history."""

    run: Reconcile

    @property
    def at(self) -> float:
        """When it ended."""
        return self.run.started.timestamp() + self.run.seconds


class Queues(Struct, frozen=True, tag="queues"):
    """How much work each controller has now."""

    queues: dict[str, Queue]


class LogLine(Struct, frozen=True, tag="said"):
    """A log line: a message and its fields; with the place in the project that a failure comes from."""

    at: float
    level: str
    message: str
    fields: JsonObject = {}
    place: str = ""
    traceback: str = ""


class Printed(Struct, frozen=True, tag="printed"):
    """A line that the operator's process wrote to its standard output or error."""

    at: float
    text: str


class Failed(Struct, frozen=True, tag="failed"):
    """The operator does not run: it could not be loaded or started, or it ended."""

    at: float
    error: str
    place: str = ""


class Changed(Struct, frozen=True, tag="changed"):
    """Files changed, and the operator is restarted."""

    at: float
    files: list[str]


Report: TypeAlias = Loaded | Running | Reconciled | Queues | LogLine | Printed | Failed | Changed

_decoder: Decoder[Report] = Decoder(Report)
_encoder = Encoder()


def line_of(report: Report) -> bytes:
    """Write a report as one line."""
    return _encoder.encode(report) + b"\n"


class Lines:
    """Splits the output of a pipe into lines, whatever the chunks."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        """Feed bytes; return the complete lines, without their ends. A line that is too long loses its rest."""
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest[:_LONGEST]
        return [line[:_LONGEST] for line in lines]

    def end(self) -> list[bytes]:
        """Return the rest at the end of the output."""
        rest, self._rest = self._rest, b""
        return [rest] if rest else []


def report_of(line: bytes) -> Report | None:
    """Parse a line; ``None`` if it is not a report, such as a truncated one."""
    try:
        return _decoder.decode(line)
    except ValidationError:
        return None
    except ValueError:  # not even JSON
        return None
