"""Where a container's mounts are on this machine, and how texts refer to them. Pure.

A process of this machine sees this machine's files, so a path below a mount is replaced by the directory that provides
it, in every text that is passed to the process. A path is replaced only where it is complete: ``/data`` in
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
        """Return a text with every path below a mount replaced."""
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda match: self._places[match[0]], text)

    def place_of(self, path: str) -> str | None:
        """Return where a path of the container is on this machine; ``None`` outside of all mounts."""
        rewritten = self.rewrite(_clean(path))
        return None if rewritten == _clean(path) else rewritten


def _clean(path: str) -> str:
    return "/" + "/".join(part for part in path.split("/") if part)
