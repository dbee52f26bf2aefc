"""Changes of a template and of its user are combined, and no line of the user is lost."""

from hypothesis import given
from hypothesis import strategies as st

from steersman.scaffold.three_way_merge import merge

BASE = "a\nb\nc\nd\ne\n"
TEXTS = st.lists(st.sampled_from("abcdef"), max_size=8).map(lambda lines: "".join(f"{line}\n" for line in lines))


def test_changes_in_different_places_are_both_made() -> None:
    """The usual case: a user adds a target, the template renews another."""
    merged = merge(BASE, "a\nb\nc\nd\ne\nmine\n", "new\nb\nc\nd\ne\n", name="1.0")
    assert (merged.text, merged.conflicts) == ("new\nb\nc\nd\ne\nmine\n", 0)


def test_the_same_change_on_both_sides_is_made_once() -> None:
    """A user has copied a fix from the newer template before."""
    merged = merge(BASE, "a\nX\nc\nd\ne\n", "a\nX\nc\nd\ne\n", name="1.0")
    assert (merged.text, merged.conflicts) == ("a\nX\nc\nd\ne\n", 0)


def test_different_changes_of_one_place_are_marked() -> None:
    """Only the user knows which one is right."""
    merged = merge(BASE, "a\nmine\nc\nd\ne\n", "a\nnew\nc\nd\ne\n", name="steersman 1.0")
    assert merged.text == "a\n<<<<<<< yours\nmine\n=======\nnew\n>>>>>>> steersman 1.0\nc\nd\ne\n"
    assert merged.conflicts == 1


def test_a_last_line_without_an_end_does_not_swallow_a_marker() -> None:
    """Editors leave such files behind."""
    merged = merge("a\n", "mine", "new", name="1.0")
    assert merged.text == "<<<<<<< yours\nmine\n=======\nnew\n>>>>>>> 1.0\n"


@given(base=TEXTS, ours=TEXTS)
def test_a_side_that_did_not_change_yields_to_the_other(base: str, ours: str) -> None:
    """Whatever the texts are."""
    assert merge(base, ours, base, name="1.0").text == ours
    assert merge(base, base, ours, name="1.0").text == ours
    assert merge(base, ours, ours, name="1.0").text == ours


@given(base=TEXTS, ours=TEXTS, theirs=TEXTS)
def test_every_line_that_only_the_user_has_stays(base: str, ours: str, theirs: str) -> None:
    """Lines that are in no template are the user's own."""
    own = "u\n"
    merged = merge(base, f"{ours}{own}", theirs, name="1.0")
    assert own in merged.text.splitlines(keepends=True)
    assert merged.conflicts == merged.text.count("<<<<<<< yours\n")
