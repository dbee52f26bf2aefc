"""Where a container's mounts are on this machine, and texts that speak of them. Pure.

A process of this machine sees this machine's files, so a path below a mount is replaced by the directory that stands
for it, in whatever text is handed to the process. A path is replaced where it stands as a path of its own: ``/data`` in
``--dir=/data/db`` and ``file:///data``, but not in ``/database`` or ``/my/data``.
"""

import re
from collections.abc import Mapping


class Mounts:
    """The mounts of one container: path inside → path on this machine."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = {_clean(path): place for path, place in places.items()}
        # The longest first: /data/db is looked for before /data.
        paths = sorted(self._places, key=len, reverse=True)
        joined = "|".join(re.escape(path) for path in paths)
        self._pattern = re.compile(rf"(?:(?<=://)|(?<![\w./~-]))(?:{joined})(?![\w.-])") if paths else None

    def rewrite(self, text: str) -> str:
        """Replace every path below a mount."""
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda match: self._places[match[0]], text)

    def place_of(self, path: str) -> str | None:
        """Return where a path of the container is on this machine; ``None`` outside of all mounts."""
        rewritten = self.rewrite(_clean(path))
        return None if rewritten == _clean(path) else rewritten


def _clean(path: str) -> str:
    return "/" + "/".join(part for part in path.split("/") if part)
