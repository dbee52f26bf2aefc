"""Decide which images the data allows: pure functions.

A mongod starts only with data whose feature compatibility version is its own or that of the release before it. A
member with any other image would crash, and its pod cannot become Ready. Versions are read from the tag of the
image; those of other images are not known, and are allowed.
"""

import re
from typing import TypeAlias

#: Release line of a version: (6, 0) of 6.0.5.
Line: TypeAlias = tuple[int, int]
_TAG = re.compile(r":[a-z-]*(\d+)\.(\d+)[^/:]*$")


def line_of_image(image: str) -> Line | None:
    """Return the release line in the tag of an image; ``None`` if it has none."""
    found = _TAG.search(image.partition("@")[0])
    return (int(found[1]), int(found[2])) if found else None


def line_of(version: str) -> Line:
    """Return the release line of a version; (0, 0) if it is unknown."""
    numbers = [int(part) for part in version.split(".")[:2] if part.isdigit()]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else (0, 0)


def upgrade_problem(image: str, compatibility: str) -> str:
    """Return why data of a feature compatibility version cannot be used with an image; empty if it can."""
    wanted, now = line_of_image(image), line_of(compatibility)
    if wanted is None or now == (0, 0) or (now <= wanted and wanted[0] <= now[0] + 1):
        return ""
    data = f"the data has the feature compatibility version {compatibility}"
    if wanted < now:
        return f"spec.image: {image} is older than the data: {data}; lower that first (setFeatureCompatibilityVersion)"
    return f"spec.image: {image} skips a release: {data}; upgrade to MongoDB {now[0] + 1}.0 first"
