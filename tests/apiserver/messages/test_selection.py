import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apiserver.messages.selection import parse_labels
from steersman.apiserver.status import Refusal
from steersman.objects.selectors import LabelSelector

KEYS = st.sampled_from(["a", "b.c/d", "e-f"])
VALUES = st.sampled_from(["x", "y1", ""])
PARTS = st.one_of(
    KEYS,
    KEYS.map(lambda key: f"!{key}"),
    st.tuples(KEYS, st.sampled_from(["=", "==", "!="]), VALUES).map("".join),
    st.tuples(KEYS, st.sampled_from([" in ", " notin "]), VALUES).map(lambda part: f"{part[0]}{part[1]}({part[2]},z)"),
    st.tuples(KEYS, st.sampled_from([">", "<"]), st.integers(0, 99)).map(lambda part: f"{part[0]}{part[1]}{part[2]}"),
)
LABELS = st.dictionaries(KEYS, st.sampled_from(["x", "y1", "", "z", "5", "70"]))


@given(st.lists(PARTS, min_size=1, max_size=4), LABELS)
def test_the_server_selects_the_same_objects_as_a_client(parts: list[str], labels: dict[str, str]) -> None:
    """Both parse with the same rules; the server's errors have the messages of Kubernetes."""
    text = ",".join(parts)
    selector = parse_labels(text)
    assert selector is not None
    assert selector.matches(labels) == LabelSelector.parse(text).matches(labels)


@given(st.text(alphabet="ab9!=<>(), in/-", max_size=20))
def test_any_text_is_a_selector_or_rejected(text: str) -> None:
    """It comes straight from a URL."""
    codes = []
    try:
        parse_labels(text)
    except Refusal as refusal:
        codes.append(refusal.code)
    assert codes in ([], [400])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("k=a b", "found 'b', expected: ',' or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("=1", "found '=', expected: !, identifier, or 'end of string'"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a,", "found '', expected: identifier after ','"),
        ("a=(", "unable to parse requirement: found '(', expected: identifier"),
        ("a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
    ],
)
def test_error_messages_are_those_of_kubernetes(text: str, message: str) -> None:
    """Recorded messages; users search for them."""
    with pytest.raises(Refusal) as caught:
        parse_labels(text)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a>9999999999999999999", "for 'Gt', 'Lt' operators, the value must be an integer"),
        ("a<-5", 'values[0][a]: Invalid value: "-5": a valid label must be'),
    ],
)
def test_a_bound_that_no_label_can_have_is_a_bad_request(text: str, message: str) -> None:
    """Both once caused an internal error: the number looked valid until it was stored."""
    with pytest.raises(Refusal) as caught:
        parse_labels(text)
    assert caught.value.code == 400
    assert message in caught.value.message
