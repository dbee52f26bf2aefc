"""Memory of the measuring process; this module imports almost nothing, so that it adds nothing."""

import resource
from pathlib import Path


def rss() -> float:
    """Return the memory of this process in MiB."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * resource.getpagesize() / 2**20
