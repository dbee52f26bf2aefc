"""What a user does with the keyboard on the screen of `steer dev`: scroll through the runs, and filter. Pure."""

from dataclasses import dataclass

from steersman.cli.dev.reports import LogLine, Printed, Reconciled
from steersman.cli.dev.view.texts import said

#: Keys by the bytes that terminals send; the longest first, because one may begin as another.
_SEQUENCES = {
    b"\x1b[5~": "page up",
    b"\x1b[6~": "page down",
    b"\x1b[1~": "home",
    b"\x1b[4~": "end",
    b"\x1b[A": "up",
    b"\x1b[B": "down",
    b"\x1b[H": "home",
    b"\x1b[F": "end",
    b"\x1bOA": "up",
    b"\x1bOB": "down",
    b"\x1b": "esc",
    b"\r": "enter",
    b"\n": "enter",
    b"\x7f": "backspace",
    b"\x08": "backspace",
}
_STEPS = {"up": 1, "k": 1, "down": -1, "j": -1, "page up": 10, "page down": -10, "home": 10_000, "end": -10_000}
#: Characters of a filter.
_LONGEST = 60


def keys_of(data: bytes) -> list[str]:
    """Return the keys in what a terminal sent: names of special keys, and characters."""
    keys: list[str] = []
    while data:
        sequence = next((one for one in _SEQUENCES if data.startswith(one)), b"")
        if sequence:
            keys.append(_SEQUENCES[sequence])
            data = data[len(sequence) :]
            continue
        text = data.decode("utf-8", "ignore")[:1]
        if text.isprintable() and text:
            keys.append(text)
        data = data[max(len(text.encode()), 1) :]
    return keys


@dataclass(slots=True)
class Controls:
    """How far the runs are scrolled back, and which are shown."""

    #: Runs that are newer than the last one shown.
    back: int = 0
    filter: str = ""
    #: Whether keys are part of the filter.
    is_typing: bool = False

    def press(self, key: str) -> None:
        """Change by one key."""
        if self.is_typing:
            self._type(key)
        elif key == "/":
            self.is_typing, self.back = True, 0
        elif key == "esc":
            self.filter, self.back = "", 0
        elif key in _STEPS:
            self.back = max(self.back + _STEPS[key], 0)

    def _type(self, key: str) -> None:
        if key == "enter":
            self.is_typing = False
        elif key == "esc":
            self.is_typing, self.filter = False, ""
        elif key == "backspace":
            self.filter = self.filter[:-1]
        elif len(key) == 1:
            self.filter = (self.filter + key)[:_LONGEST]

    def visible(self, count: int, room: int) -> tuple[int, int]:
        """Return the range of ``count`` entries that ``room`` lines show; scrolling ends with the oldest."""
        self.back = min(self.back, max(count - room, 0))
        end = count - self.back
        return max(end - room, 0), end

    def shows_run(self, run: Reconciled) -> bool:
        """Return whether a run has every word of the filter in its object, controller, result or message."""
        record = run.run
        return self._matches(f"{record.object} {record.controller} {record.result} {record.reason} {record.message}")

    def shows_line(self, line: LogLine | Printed) -> bool:
        """Return whether a line of the log has every word of the filter."""
        return self._matches(line.text if isinstance(line, Printed) else f"{line.level} {said(line)}")

    def _matches(self, text: str) -> bool:
        folded = text.casefold()
        return all(word in folded for word in self.filter.casefold().split())
