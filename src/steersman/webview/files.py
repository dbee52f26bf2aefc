"""The files of the page, read from the installed package once."""

from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from msgspec import Struct

_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


class StaticFile(Struct, frozen=True):
    """One file as it is sent."""

    content_type: str
    body: bytes

    def __repr__(self) -> str:
        return f"<StaticFile {self.content_type} {len(self.body)} bytes>"


def static_files() -> dict[str, StaticFile]:
    """Return every file that browsers may ask for, by its path below ``static/``.

    Only what is in this table is served: a path is looked up, never opened.
    """
    return dict(_walk(files("steersman.webview") / "static", ""))


def _walk(folder: Traversable, prefix: str) -> list[tuple[str, StaticFile]]:
    found: list[tuple[str, StaticFile]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _walk(entry, f"{prefix}{entry.name}/")
            continue
        content_type = _TYPES.get(f".{entry.name.rpartition('.')[2]}")
        if content_type is not None:
            found.append((prefix + entry.name, StaticFile(content_type, entry.read_bytes())))
    return found
