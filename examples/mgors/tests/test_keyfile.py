"""Keyfiles with one key and with two."""

from mgors.actions import NoAction, Wait
from mgors.keyfile import Keyfile, is_settled
from mgors.members import Answered, NotAuthorised, Slot, State, View
from mgors.situation import Situation


def test_a_keyfile_is_the_same_after_it_was_written_and_read() -> None:
    """One key is plain text, as in every keyfile before its first rotation."""
    one = Keyfile.parse("abc\n")
    assert (one.text, one.keys) == ("abc", ("abc",))
    both = one.with_next("def", "2")
    assert Keyfile.parse(both.text, "2") == both
    assert both.text == "- abc\n- def\n"
    assert both.with_last_only().text == "def"


def test_the_key_of_the_operator_is_accepted_in_each_phase() -> None:
    """Members with the keyfile before and after each step accept it."""
    old = Keyfile.parse("abc")
    both = old.with_next("def", "2")
    new = both.with_last_only()
    assert both.key in old.keys
    assert both.key in both.keys
    assert new.key in both.keys
    assert new.key in new.keys


def test_pods_are_replaced_by_a_rotation_only() -> None:
    """A keyfile that was never rotated leaves no mark in the template, and each phase leaves another one."""
    old = Keyfile.parse("abc")
    both = old.with_next("def", "2")
    assert old.mark == ""
    assert len({both.mark, both.with_last_only().mark, ""}) == 3


def test_a_phase_begins_only_when_every_member_responds() -> None:
    """A member that does not respond may have any keyfile."""
    slots = [Slot(number=number, pod=f"m-{number}", reach=Answered(View(state=State.SECONDARY))) for number in (0, 1)]
    assert is_settled(Situation(slots=tuple(slots)), NoAction())
    assert not is_settled(Situation(slots=tuple(slots), is_busy=True), NoAction())
    assert not is_settled(Situation(slots=tuple(slots)), Wait("Electing", ""))
    silent = Slot(number=2, pod="m-2", reach=NotAuthorised())
    assert not is_settled(Situation(slots=(*slots, silent)), NoAction())


def test_keys_are_not_shown() -> None:
    """They grant all permissions on all members."""
    assert "abc" not in repr(Keyfile.parse("abc"))
