"""Parse and compare the lines of ``customConfig``, such as ``maxmemory 100mb``: pure functions on text."""

import re
from collections.abc import Iterable, Mapping

#: Settings of every server before the user's lines, the same as spotahome's.
_DEFAULTS = ["tcp-keepalive 60", "save 900 1", "save 300 10"]
#: Default options of sentinels, the same as spotahome's.
_SENTINEL_DEFAULTS = {"down-after-milliseconds": "5000", "failover-timeout": "10000", "parallel-syncs": "2"}
#: Settings that only the operator may set.
RESERVED = frozenset(
    {"bind", "bind-source-addr", "masterauth", "masteruser", "port", "replicaof", "requirepass", "slaveof"}
)
#: Setting for the number of replicas that a master needs before it accepts writes, and its older name.
WRITE_QUORUM, _WRITE_QUORUM_BEFORE = "min-replicas-to-write", "min-slaves-to-write"
_UNITS = {"b": 1, "k": 1000, "kb": 1 << 10, "m": 1000**2, "mb": 1 << 20, "g": 1000**3, "gb": 1 << 30}
_SIZE = re.compile(rf"(\d+)({'|'.join(sorted(_UNITS, key=len, reverse=True))})")


def parse_settings(lines: Iterable[str]) -> dict[str, str]:
    """Parse lines; a name on several lines becomes one setting with all values, as Redis shows it."""
    found: dict[str, str] = {}
    for line in lines:
        name, _, value = line.strip().partition(" ")
        name, value = name.lower(), value.strip().strip("\"'")
        if name and not name.startswith("#"):
            found[name] = f"{found[name]} {value}" if found.get(name) else value
    return found


def is_equal(wanted: str, have: str) -> bool:
    """Return whether two values mean the same; Redis shows sizes in bytes, so ``100mb`` equals ``104857600``."""
    return [_in_bytes(word) for word in wanted.split()] == [_in_bytes(word) for word in have.split()]


def _in_bytes(word: str) -> str:
    found = _SIZE.fullmatch(word.lower())
    return str(int(found[1]) * _UNITS[found[2]]) if found else word


def reserved_in(lines: Iterable[str]) -> list[str]:
    """Return the names in the lines that users may not set."""
    return sorted(RESERVED & parse_settings(lines).keys())


def redis_conf(lines: Iterable[str]) -> str:
    """Return the text of redis.conf. It never contains the password, because it is stored in a ConfigMap."""
    own = [line.strip() for line in lines]
    named = parse_settings(own)
    defaults = [line for line in _DEFAULTS if line.partition(" ")[0] not in named]
    return "\n".join([*defaults, *own, ""])


def split_write_quorum(settings: Mapping[str, str]) -> tuple[dict[str, str], int]:
    """Return the settings without the number of replicas that a write needs, and that number.

    The operator raises that number while a master hands over, so it is compared by other rules than settings are. A
    value that is not a number stays a setting: Redis rejects it with the reason.
    """
    rest, quorum = dict(settings), 0
    for name in (WRITE_QUORUM, _WRITE_QUORUM_BEFORE):
        if rest.get(name, "").isdecimal():
            quorum = int(rest.pop(name))
    return rest, quorum


def sentinel_options(lines: Iterable[str]) -> dict[str, str]:
    """Return the options of every sentinel."""
    return {**_SENTINEL_DEFAULTS, **parse_settings(lines)}
