"""Where in the author's own files a failure comes from, as an editor wants it: ``custompod/main.py:12``."""

import traceback
from pathlib import Path


def place_of(error: BaseException, root: Path) -> str:
    """Return the file and line of the project that a failure comes from; empty if it comes from elsewhere."""
    if isinstance(error, SyntaxError) and error.filename and (own := _own(error.filename, root)):
        return f"{own}:{error.lineno or 1}"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if own := _own(frame.filename, root):
            return f"{own}:{frame.lineno or 1}"
    return ""


def text_of(error: BaseException) -> str:
    """Return the text of a failure without its location, which `place_of` returns."""
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def _own(filename: str, root: Path) -> str:
    """Return a file's name within the project; installed packages that lie in its folder are not the author's."""
    path = (root / filename).resolve()
    if not path.is_relative_to(root.resolve()) or not path.is_file():
        return ""
    name = path.relative_to(root.resolve())
    return "" if "site-packages" in name.parts else name.as_posix()
