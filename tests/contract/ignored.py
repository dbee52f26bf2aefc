"""Differences that are ignored, each with its reason. There are no others."""

import re

from tests.contract.recordings import Step

#: Pattern of a difference → why it is ignored.
REASONS: dict[str, str] = {
    r"/storageVersionHash: ": "a hash of how Kubernetes stores a kind; clients only compare it with itself",
    r"/serverAddress: ": "the address under which the recorded server was reached",
    r"/columnDefinitions/\d+/description: ": "prose of Kubernetes' documentation, which kubectl does not show",
    r"this server does not (evaluate|enforce) ": "a word about what has no effect here; a real server needs none",
    r"/git(Commit|TreeState)|/goVersion|/compiler|/platform|/buildDate": "how the server was built",
}


def is_ignored(sequence: str, step: Step, difference: str) -> bool:
    """Return whether a difference is ignored."""
    del sequence
    if any(difference.startswith(f"{place}: ") for place in step.varies):
        # The real server itself varies: Go iterates over maps in random order.
        return True
    return any(re.search(pattern, difference) for pattern in REASONS)
