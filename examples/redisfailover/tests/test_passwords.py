"""Password changes, without any server."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from redisfailover.actions import AcceptPassword, RequirePassword, SetSentinelPassword, UsePassword
from redisfailover.observation import Address, Goal, Observation, RedisNode, SentinelNode
from redisfailover.passwords import PasswordRecord, digest, is_password_changed, password_steps, with_password_state

GOAL = Goal()
NODE = RedisNode(pod="rfr-a-0", address=Address("10.0.0.1", 6379), role="slave")


def servers(*, uses_password: bool = True, accepts_other_passwords: bool = False) -> tuple[RedisNode, ...]:
    """Return three servers."""
    one = replace(NODE, uses_password=uses_password, accepts_other_passwords=accepts_other_passwords)
    return tuple(replace(one, pod=f"rfr-a-{number}") for number in range(3))


def sentinels(*, has_password: bool = True) -> tuple[SentinelNode, ...]:
    """Return three sentinels that monitor a master."""
    one = SentinelNode(pod="", answers=True, watches=NODE.address, has_password=has_password)
    return tuple(replace(one, pod=f"rfs-{number}", uid=str(number)) for number in range(3))


def test_every_server_accepts_the_new_password_before_it_is_used() -> None:
    """A replica that reconnects with a password that its master rejects does not replicate."""
    mixed = (replace(servers()[0], accepts_password=False), *servers(uses_password=False)[1:])
    seen = Observation(redis=mixed, sentinels=sentinels(has_password=False))
    assert password_steps(GOAL, seen) == (AcceptPassword(mixed[0]),)


def test_replicas_and_sentinels_use_the_new_password_before_the_old_one_is_removed() -> None:
    """A sentinel with the old password considers every server down, and replaces none."""
    seen = Observation(
        redis=servers(uses_password=False, accepts_other_passwords=True), sentinels=sentinels(has_password=False)
    )
    assert {type(step) for step in password_steps(GOAL, seen)} == {UsePassword, SetSentinelPassword}
    seen = Observation(redis=servers(accepts_other_passwords=True), sentinels=sentinels())
    assert {type(step) for step in password_steps(GOAL, seen)} == {RequirePassword}


def test_the_old_password_stays_while_a_server_does_not_respond() -> None:
    """The server may return with only the old password."""
    redis = servers(accepts_other_passwords=True)
    away = Observation(redis=(replace(redis[0], role=None), *redis[1:]), sentinels=sentinels())
    assert password_steps(GOAL, away) == ()
    assert not is_password_changed(GOAL, away)
    assert password_steps(GOAL, Observation(redis=redis, sentinels=sentinels()[:2])) == ()


def test_passwords_of_a_server_are_read_from_its_acl() -> None:
    """Redis shows digests; a server that accepts any password accepts the new one, and others."""
    closed = {"flags": ["on"], "passwords": [digest("old")]}
    both = {"flags": ["on"], "passwords": [digest("old"), digest("new")]}
    any_ = {"flags": ["on", "nopass"], "passwords": []}
    link = {"masterauth": "new", "masteruser": "default"}

    def state(acl: dict[str, list[str]], password: str = "new", previous: str = "") -> tuple[bool, bool]:  # noqa: S107 - a test's
        found = with_password_state(NODE, acl, link, (password, previous))
        return found.accepts_password, found.accepts_other_passwords

    assert state(closed) == (False, True)
    assert state(both) == (True, True)
    assert state(both, previous="old") == (True, False)
    assert state(any_) == (True, True)
    assert state(any_, password="") == (True, False)
    assert state(closed, password="") == (False, False)
    assert with_password_state(NODE, both, link, ("new", "")).uses_password
    assert not with_password_state(NODE, both, {"masterauth": "new", "masteruser": ""}, ("new", "")).uses_password


def test_a_record_keeps_passwords_until_no_server_needs_them() -> None:
    """The Secret was changed twice in a row, and one server has the password in between."""
    record = PasswordRecord().with_password("a").with_password("b").with_password("c").with_password("c")
    assert record.passwords == ("a", "b", "c")
    seen = Observation(redis=servers(), sentinels=sentinels())
    assert record.after(seen, [], "c", is_everywhere=False).passwords == ("a", "b", "c")
    assert record.after(seen, [], "c", is_everywhere=True).passwords == ("c",)
    assert PasswordRecord.read(record.write()) == record
    assert "b" not in repr(record)


def test_the_password_of_a_sentinel_is_recorded() -> None:
    """A sentinel does not show its password. A new one has none, and a removed one leaves the record."""
    [first, second, _] = sentinels()
    seen = Observation(redis=servers(), sentinels=(first, second))
    record = PasswordRecord(sentinels={"gone": "x"}).with_password("a").after(seen, [first], "a", is_everywhere=False)
    assert record.with_password_state(first, "a").has_password
    assert not record.with_password_state(first, "b").has_password
    assert not record.with_password_state(second, "a").has_password
    assert PasswordRecord().with_password_state(second, "").has_password
    assert set(record.sentinels) == {"0"}


states = st.builds(
    lambda accepts, others, uses_password: replace(
        NODE, accepts_password=accepts, accepts_other_passwords=others, uses_password=uses_password
    ),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)


@given(st.lists(states, min_size=3, max_size=3), st.booleans())
def test_no_action_locks_out_a_server_or_sentinel(redis: list[RedisNode], has_password: bool) -> None:
    """Old passwords are removed only when every server, replica and sentinel has the new one."""
    seen = Observation(redis=tuple(redis), sentinels=sentinels(has_password=has_password))
    if any(isinstance(step, RequirePassword) for step in password_steps(GOAL, seen)):
        assert all(node.accepts_password and node.uses_password for node in redis)
        assert has_password
