"""Waiting until files change: a look now and then, and another until the writing is over."""

from steersman.cli.dev.project_files import ProjectFiles, changed_files
from steersman.clock import Clock

#: Seconds between two looks.
LOOK_EVERY = 0.2


class FileWatch:
    """Knows what the files were like when the operator was last started."""

    def __init__(self, files: ProjectFiles, clock: Clock) -> None:
        self._files = files
        self._clock = clock
        self._known = files.look()

    async def wait_changed(self) -> list[str]:
        """Wait for a change, and until two looks in a row are equal; give the names of the files.

        An editor or a checkout that writes many files leads to one start, not to many.
        """
        before, last = self._known, self._known
        while True:
            await self._clock.sleep(LOOK_EVERY)
            now = self._files.look()
            if now == last and now != before:
                self._known = now
                return changed_files(before, now)
            last = now
