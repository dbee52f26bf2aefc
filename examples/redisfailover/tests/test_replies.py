"""Replies of servers and sentinels, as of Redis 7.0.15."""

from redisfailover.observation import Address, RedisNode, SentinelNode
from redisfailover.replies import node_from_info, sentinel_from_master

NODE = RedisNode(pod="rfr-a-0", address=Address("10.0.0.1", 6379))


def test_a_server_that_has_just_started_follows_itself() -> None:
    """Its offset is that of the data on its disk."""
    info = {
        "role": "slave",
        "master_host": "10.0.0.1",
        "master_port": 6379,
        "master_link_status": "down",
        "master_sync_in_progress": 0,
        "slave_repl_offset": 7859,
        "master_repl_offset": 7859,
        "db0": {"keys": 200, "expires": 0, "avg_ttl": 0},
    }
    node = node_from_info(NODE, info, {})
    assert (node.role, node.follows, node.is_synced) == ("slave", NODE.address, False)
    assert (node.offset, node.keys) == (7859, 200)


def test_a_master_has_all_of_its_data() -> None:
    """A master follows no server."""
    node = node_from_info(NODE, {"role": "master", "master_repl_offset": 42}, {"maxmemory": "1gb"})
    assert (node.role, node.follows, node.is_synced, node.offset) == ("master", None, True, 42)
    assert node.drift == {"maxmemory": "1gb"}


def test_a_sentinel_reports_its_master_and_its_state() -> None:
    """Options that the reply does not contain cannot differ."""
    answer = {
        "ip": "10.0.0.2",
        "port": 6379,
        "flags": "s_down,o_down,master,failover_in_progress",
        "quorum": 2,
        "num-slaves": 2,
        "num-other-sentinels": 2,
        "down-after-milliseconds": 5000,
    }
    wanted = {"down-after-milliseconds": "1000", "notification-script": "/bin/true"}
    node = sentinel_from_master(SentinelNode(pod="rfs-a-0"), answer, wanted)
    assert (node.watches, node.is_down, node.is_failing_over) == (Address("10.0.0.2", 6379), True, True)
    assert node.drift == {"down-after-milliseconds": "1000"}
