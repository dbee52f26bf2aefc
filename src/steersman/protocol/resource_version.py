"""Order among the resource versions of one resource: what a cache and a watch may ask of them.

Versions are opaque beyond this: no arithmetic, and never a comparison across resources.
"""

import re

_VERSION = re.compile(r"[1-9][0-9]*")


def is_resource_version(text: str) -> bool:
    """Tell whether a text can be ordered: a positive integer of any length, without leading zeros."""
    return _VERSION.fullmatch(text) is not None


def is_older(version: str, than: str) -> bool:
    """Tell whether one version lies strictly before another; versions that cannot be ordered are an error."""
    for text in (version, than):
        if not is_resource_version(text):
            raise ValueError(f"not a resource version that can be ordered: {text!r}")
    # Without leading zeros a shorter number is a smaller one, so that no number of digits is too many.
    return (len(version), version) < (len(than), than)
