"""Two engines for regular expressions with the same results."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.cel.evaluation.patterns import searcher
from steersman.cel.library.regex import PatternError, compiled

_atoms = st.sampled_from(["a", "b", "-", "[a-c]", "[^a]", ".", r"\d", r"\w", r"\.", "[-a-z0-9]", "[a&&b]", "[--0]"])
_pieces = st.builds(str.__add__, _atoms, st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,3}"]))
_groups = st.lists(_pieces, min_size=1, max_size=3).map(lambda parts: f"({''.join(parts)})") | st.builds(
    lambda a, b: f"(?:{a}|{b})?", _pieces, _pieces
)
_patterns = st.builds(
    lambda start, parts, end: start + "".join(parts) + end,
    st.sampled_from(["", "^"]),
    st.lists(_pieces | _groups, max_size=4),
    st.sampled_from(["", "$"]),
)


@settings(max_examples=200, deadline=None)
@given(_patterns, st.lists(st.text("abcz0.-\né ", max_size=8), min_size=1, max_size=6))
def test_the_fast_engine_finds_what_the_safe_one_finds(pattern: str, texts: list[str]) -> None:
    """A pattern means the same in generated code, at the end of a line as well."""
    quick, careful = searcher(pattern), compiled(pattern)
    for text in texts:
        assert bool(quick(text)) is bool(careful.search(text)), (pattern, text)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("[", "missing closing ]: `[`"),
        ("(a", "missing closing ): `(a`"),
        ("a)", "unexpected ): `a)`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        (r"\8", r"invalid escape sequence: `\8`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        (r"\C", r"invalid escape sequence: `\C`"),
    ],
)
def test_errors_of_patterns_have_the_messages_of_go(pattern: str, words: str) -> None:
    """Users find these texts in the documentation of Go and Kubernetes."""
    with pytest.raises(PatternError) as caught:
        compiled(pattern)
    assert str(caught.value) == f"error parsing regexp: {words}"
