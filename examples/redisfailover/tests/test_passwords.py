"""How a password changes, without any server."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from redisfailover.actions import Accept, Link, Require, Tell
from redisfailover.observation import Address, Goal, Observation, RedisNode, SentinelNode
from redisfailover.passwords import Record, digest, is_changed_everywhere, judged, password_steps

GOAL = Goal()
NODE = RedisNode(pod="rfr-a-0", address=Address("10.0.0.1", 6379), role="slave")


def servers(*, links: bool = True, accepts_others: bool = False) -> tuple[RedisNode, ...]:
    """Return three servers."""
    one = replace(NODE, links=links, accepts_others=accepts_others)
    return tuple(replace(one, pod=f"rfr-a-{number}") for number in range(3))


def sentinels(*, has_password: bool = True) -> tuple[SentinelNode, ...]:
    """Return three sentinels that watch a master."""
    one = SentinelNode(pod="", answers=True, watches=NODE.address, has_password=has_password)
    return tuple(replace(one, pod=f"rfs-{number}", uid=str(number)) for number in range(3))


def test_every_server_accepts_the_new_one_before_anybody_uses_it() -> None:
    """A replica that reconnects with a password that its master does not know follows nobody."""
    mixed = (replace(servers()[0], accepts=False), *servers(links=False)[1:])
    seen = Observation(redis=mixed, sentinels=sentinels(has_password=False))
    assert password_steps(GOAL, seen) == (Accept(mixed[0]),)


def test_replicas_and_sentinels_use_it_before_the_old_one_goes() -> None:
    """A sentinel with the old one takes every server for dead, and replaces none."""
    seen = Observation(redis=servers(links=False, accepts_others=True), sentinels=sentinels(has_password=False))
    assert {type(step) for step in password_steps(GOAL, seen)} == {Link, Tell}
    seen = Observation(redis=servers(accepts_others=True), sentinels=sentinels())
    assert {type(step) for step in password_steps(GOAL, seen)} == {Require}


def test_the_old_one_stays_while_somebody_is_away() -> None:
    """It may come back with nothing else."""
    redis = servers(accepts_others=True)
    away = Observation(redis=(replace(redis[0], role=None), *redis[1:]), sentinels=sentinels())
    assert password_steps(GOAL, away) == ()
    assert not is_changed_everywhere(GOAL, away)
    assert password_steps(GOAL, Observation(redis=redis, sentinels=sentinels()[:2])) == ()


def test_what_a_server_says_of_its_passwords() -> None:
    """It shows digests; one that accepts any accepts the new one, and too much."""
    closed = {"flags": ["on"], "passwords": [digest("old")]}
    both = {"flags": ["on"], "passwords": [digest("old"), digest("new")]}
    any_ = {"flags": ["on", "nopass"], "passwords": []}
    link = {"masterauth": "new", "masteruser": "default"}

    def said(acl: dict[str, list[str]], password: str = "new", previous: str = "") -> tuple[bool, bool]:  # noqa: S107 - a test's
        found = judged(NODE, acl, link, (password, previous))
        return found.accepts, found.accepts_others

    assert said(closed) == (False, True)
    assert said(both) == (True, True)
    assert said(both, previous="old") == (True, False)
    assert said(any_) == (True, True)
    assert said(any_, password="") == (True, False)
    assert said(closed, password="") == (False, False)
    assert judged(NODE, both, link, ("new", "")).links
    assert not judged(NODE, both, {"masterauth": "new", "masteruser": ""}, ("new", "")).links


def test_a_record_keeps_passwords_until_nobody_needs_them() -> None:
    """The Secret was changed twice in a row, and one server has the one in between."""
    record = Record().with_password("a").with_password("b").with_password("c").with_password("c")
    assert record.passwords == ("a", "b", "c")
    seen = Observation(redis=servers(), sentinels=sentinels())
    assert record.after(seen, [], "c", is_everywhere=False).passwords == ("a", "b", "c")
    assert record.after(seen, [], "c", is_everywhere=True).passwords == ("c",)
    assert Record.read(record.write()) == record
    assert "b" not in repr(record)


def test_a_sentinel_has_what_it_was_told() -> None:
    """It does not show its password; one that is new knows none, and is forgotten when it is gone."""
    [first, second, _] = sentinels()
    seen = Observation(redis=servers(), sentinels=(first, second))
    record = Record(sentinels={"gone": "x"}).with_password("a").after(seen, [first], "a", is_everywhere=False)
    assert record.judge(first, "a").has_password
    assert not record.judge(first, "b").has_password
    assert not record.judge(second, "a").has_password
    assert Record().judge(second, "").has_password
    assert set(record.sentinels) == {"0"}


states = st.builds(
    lambda accepts, others, links: replace(NODE, accepts=accepts, accepts_others=others, links=links),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)


@given(st.lists(states, min_size=3, max_size=3), st.booleans())
def test_nobody_is_locked_out_by_a_step(redis: list[RedisNode], has_password: bool) -> None:
    """Old passwords go only when every server, replica and sentinel has the new one."""
    seen = Observation(redis=tuple(redis), sentinels=sentinels(has_password=has_password))
    if any(isinstance(step, Require) for step in password_steps(GOAL, seen)):
        assert all(node.accepts and node.links for node in redis)
        assert has_password
