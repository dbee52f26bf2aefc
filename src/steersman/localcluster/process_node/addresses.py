"""Addresses of pods: each pod has its own loopback address, and a known key gets the same one again. Pure."""

import hashlib
from collections.abc import Mapping

from steersman.errors import ConfigError

#: 127.1.0.0 to 127.255.255.255: addresses below are used by other programs, such as resolvers.
_FIRST, _LAST = 127 << 24 | 1 << 16, 127 << 24 | 0xFFFFFF
#: Addresses that are tried before an error is raised.
_MOST = 60_000


class AddressBook:
    """Addresses by key. A released address can be assigned again; a kept one stays with its key."""

    def __init__(self, seed: str, kept: Mapping[str, str] | None = None) -> None:
        """Start at an address that depends on the seed, so that several nodes on a machine do not collide."""
        digest = hashlib.sha256(seed.encode()).digest()
        self._next = int.from_bytes(digest[:4], "big") % (_LAST - _FIRST + 1)
        self._by_key = dict(kept or {})

    def address_of(self, key: str) -> str:
        """Return the address of a key, a new one if it has none."""
        if key not in self._by_key:
            self._by_key[key] = self._free()
        return self._by_key[key]

    def give_back(self, key: str) -> None:
        """Forget a key: its address is free, and the key gets another one the next time."""
        self._by_key.pop(key, None)

    def entries(self) -> dict[str, str]:
        """Return all addresses by key, to be stored."""
        return dict(self._by_key)

    def _free(self) -> str:
        taken = set(self._by_key.values())
        for _ in range(_MOST):
            number = _FIRST + self._next
            self._next = (self._next + 1) % (_LAST - _FIRST + 1)
            address = ".".join(str(number >> shift & 0xFF) for shift in (24, 16, 8, 0))
            if number & 0xFF not in (0, 255) and address not in taken:
                return address
        raise ConfigError(f"no address is free for another pod: {len(taken)} are taken")
