"""Parse the replies of servers and sentinels: pure functions on the dictionaries of the client library."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from redisfailover.observation import Address, RedisNode, SentinelNode


def node_from_info(node: RedisNode, info: Mapping[str, Any], drift: Mapping[str, str]) -> RedisNode:
    """Return the server with its role, master and offset from ``INFO``."""
    keys = sum(one["keys"] for name, one in info.items() if name.startswith("db") and isinstance(one, Mapping))
    offset = int(info.get("master_repl_offset", 0))
    node = replace(
        node,
        history=str(info.get("master_replid", "")),
        previous_history=str(info.get("master_replid2", "")),
        previous_history_end=int(info.get("second_repl_offset", -1)),
    )
    if info.get("role") == "master":
        return replace(node, role="master", offset=offset, keys=keys, is_synced=True, drift=drift)
    return replace(
        node,
        role="slave",
        follows=Address(str(info.get("master_host", "")), int(info.get("master_port", 0))),
        is_synced=info.get("master_link_status") == "up" and not int(info.get("master_sync_in_progress", 0)),
        offset=max(offset, int(info.get("slave_repl_offset", 0))),
        keys=keys,
        drift=drift,
    )


def sentinel_from_master(node: SentinelNode, master: Mapping[str, Any], options: Mapping[str, str]) -> SentinelNode:
    """Return the sentinel with its master from ``SENTINEL MASTER``."""
    flags = str(master.get("flags", "")).split(",")
    return replace(
        node,
        answers=True,
        watches=Address(str(master["ip"]), int(master["port"])),
        quorum=int(master.get("quorum", 0)),
        replicas=int(master.get("num-slaves", 0)),
        others=int(master.get("num-other-sentinels", 0)),
        is_down=bool({"s_down", "o_down"} & {*flags}),
        is_failing_over="failover_in_progress" in flags,
        # An option that is not shown, such as a password, cannot differ.
        drift={name: value for name, value in options.items() if str(master.get(name, value)) != value},
    )
