"""Recorded reconciles as files: an export for `steer replay`, or a pytest."""

from collections.abc import Sequence
from pathlib import Path

import click
from msgspec import Struct

from steersman.history.recordings import Recording


class Saving(Struct, frozen=True, kw_only=True):
    """Which files are written, and from which reconcile."""

    export: Path | None
    test: Path | None
    #: The number of the reconcile; ``None`` for the most telling one, in an export for all.
    number: int | None
    #: The operator as ``module:name``, if the user has named it.
    operator: str | None

    @property
    def is_asked(self) -> bool:
        """Whether anything is written."""
        return self.export is not None or self.test is not None

    def write(self, recordings: Sequence[Recording]) -> None:
        """Write the files; raises ``ClickException`` if there is nothing to write, or if a file exists."""
        chosen = [one for one in recordings if self.number in (None, one.number)]
        if not chosen:
            raise click.ClickException(_nothing(recordings, self.number))
        for path in (self.export, self.test):
            if path is not None and path.exists():
                raise click.ClickException(f"{path} exists: choose another file")
        if self.export is not None:
            self._export(self.export, chosen)
        if self.test is not None:
            self._save_test(self.test, chosen)

    @staticmethod
    def _export(path: Path, chosen: Sequence[Recording]) -> None:
        from steersman.history.recordings import export

        path.write_bytes(export(chosen))
        noun = "reconcile" if len(chosen) == 1 else "reconciles"
        click.echo(f"{path}: {len(chosen)} {noun} of {chosen[0].object}; compare with `steer replay {path}`")

    def _save_test(self, path: Path, chosen: Sequence[Recording]) -> None:
        from steersman.cli.target import project_target
        from steersman.history.recorded_test import recorded_test
        from steersman.history.recordings import most_telling

        recording = most_telling(chosen)
        assert recording is not None  # noqa: S101 - one was chosen
        operator = self.operator or recording.operator or project_target()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(recorded_test(recording, operator))
        click.echo(f"{path}: a test of {recording.title}; run it with `pytest {path}`")


def _nothing(recordings: Sequence[Recording], number: int | None) -> str:
    if not recordings:
        return "no reconcile of the object has been recorded yet"
    kept = ", ".join(str(one.number) for one in recordings)
    return f"reconcile {number} is not recorded; recorded are {kept}"
