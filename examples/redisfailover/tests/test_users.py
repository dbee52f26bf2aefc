"""ACL users: which ones servers must have and lose, for every order of changes."""

from hypothesis import given, settings
from hypothesis import strategies as st

from redisfailover.actions import DropUsers, SetUsers
from redisfailover.decision import decide
from redisfailover.observation import Goal, Observation, RedisNode
from redisfailover.users import Account, UserRecord, parse_users

ONE, TWO = Account("1" * 64, ("~*", "+get")), Account("2" * 64, ("~*", "+set"))
_ACCOUNTS = st.dictionaries(st.sampled_from(["a", "b", "c"]), st.sampled_from([ONE, TWO, None]))


def server(**fields: tuple[str, ...]) -> RedisNode:
    """Return a server that responds."""
    return RedisNode(pod="rfr-a-0", role="master", **fields)  # type: ignore[arg-type]


def test_a_record_is_read_back_and_shows_no_password() -> None:
    """Servers read the lines at their start; only digests are stored."""
    record = UserRecord(users={"a": ONE}, leaving=("b",))
    assert UserRecord.read(record.write()) == record
    assert record.lines() == f"user a on #{'1' * 64} ~* +get\n"
    assert UserRecord.read(b"not json") == UserRecord()


@settings(deadline=None)
@given(st.lists(_ACCOUNTS, max_size=8))
def test_no_user_is_lost_because_its_secret_is_missing_and_none_is_forgotten(
    changes: list[dict[str, Account | None]],
) -> None:
    """``None`` is a Secret that cannot be read now."""
    record, known, ever = UserRecord(), dict[str, Account](), set[str]()
    for wanted in changes:
        record = record.with_wanted(wanted)
        known = {name: account or known[name] for name, account in wanted.items() if account or name in known}
        ever |= known.keys()
        assert record.users == known
        assert set(record.leaving) == ever - known.keys()


def test_removed_users_are_recorded_until_every_server_has_dropped_them() -> None:
    """A server that does not respond may still have one, and would accept it when it returns."""
    record = UserRecord().with_wanted({"a": ONE}).with_wanted({})
    goal = Goal(replicas=1)
    assert record.leaving == ("a",)
    assert record.after(goal, Observation(redis=(RedisNode(pod="rfr-a-0"),))) == record
    assert record.after(goal, Observation(redis=(server(leaving_users=("a",)),))) == record
    assert record.after(goal, Observation(redis=(server(),))).leaving == ()


def test_a_server_gets_what_it_lacks_and_loses_what_was_removed() -> None:
    """Users change at any time: they interfere with nothing else."""
    node = server(missing_users=("a",), leaving_users=("b",))
    actions = decide(Goal(replicas=1, final_replicas=1, sentinels=0), Observation(redis=(node,))).actions
    assert [type(one) for one in actions if isinstance(one, SetUsers | DropUsers)] == [SetUsers, DropUsers]


def test_users_are_listed_by_name() -> None:
    """As ``ACL LIST`` shows them."""
    assert parse_users(["user default on nopass ~* +@all", "user a on #1 +get"]).keys() == {"default", "a"}
