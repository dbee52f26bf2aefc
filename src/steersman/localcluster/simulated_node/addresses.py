"""Addresses of pods on a simulated node: each pod has one of its own, and keeps it. Pure."""

import ipaddress
from collections.abc import Container

_NETWORK = ipaddress.IPv4Network("10.244.0.0/16")
#: The first and the last addresses of a network are nobody's own.
_FIRST, _COUNT = 2, _NETWORK.num_addresses - 3


def free_address(uid: str, taken: Container[str]) -> str:
    """Give an address that nobody has; the search begins where the pod's uid says, so that it is always the same."""
    start = int(uid.replace("-", "")[:8] or "0", 16) % _COUNT
    for step in range(_COUNT):
        address = str(_NETWORK[_FIRST + (start + step) % _COUNT])
        if address not in taken:
            return address
    raise LookupError(f"all {_COUNT} addresses of {_NETWORK} are taken")
