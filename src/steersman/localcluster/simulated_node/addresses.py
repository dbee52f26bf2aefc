"""Addresses of pods on a simulated node: each pod has its own, and keeps it. Pure."""

import ipaddress

_NETWORK = ipaddress.IPv4Network("10.244.0.0/16")
#: The first and the last address of a network are reserved.
_FIRST, _COUNT = 2, _NETWORK.num_addresses - 3


class Addresses:
    """Addresses by pod."""

    def __init__(self) -> None:
        #: Uids by address.
        self._taken: dict[str, str] = {}

    def address_of(self, uid: str, present: str | None) -> str:
        """Return the address of a pod, or a free one.

        The search begins at a position that depends on the uid, so that equal runs assign equal addresses.
        """
        if present:
            self._taken[present] = uid
            return present
        start = int(uid.replace("-", "")[:8] or "0", 16) % _COUNT
        for step in range(_COUNT):
            address = str(_NETWORK[_FIRST + (start + step) % _COUNT])
            if self._taken.setdefault(address, uid) == uid:
                return address
        raise LookupError(f"all {_COUNT} addresses of {_NETWORK} are taken")

    def release(self, uid: str, address: str | None) -> None:
        """Free the address of a deleted pod."""
        if address and self._taken.get(address) == uid:
            del self._taken[address]
