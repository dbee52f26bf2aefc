"""Order among the resource versions of one resource: what a cache and a watch may ask of them.

Versions are opaque beyond this: no arithmetic, and never a comparison across resources.
"""

import re

_is_version = re.compile(r"[1-9][0-9]*").fullmatch


def is_resource_version(text: str) -> bool:
    """Return whether a text can be ordered: a positive integer of any length, without leading zeros."""
    return _is_version(text) is not None


def is_older(version: str, than: str) -> bool:
    """Return whether one version lies strictly before another; versions that cannot be ordered are an error."""
    if not (_is_version(version) and _is_version(than)):
        wrong = than if is_resource_version(version) else version
        raise ValueError(f"not a resource version that can be ordered: {wrong!r}")
    # Without leading zeros a shorter number is a smaller one, so that no number of digits is too many.
    return version < than if len(version) == len(than) else len(version) < len(than)
