from urllib.parse import parse_qsl

from hypothesis import given
from hypothesis import strategies as st

from steersman.apiserver.messages.info import split_target


@given(st.text(alphabet="ab=&+%20?/;é", max_size=20))
def test_queries_are_parsed_as_the_standard_library_does(text: str) -> None:
    """Most queries take a fast path, which must have the same result."""
    wanted: dict[str, list[str]] = {}
    for name, value in parse_qsl(text, keep_blank_values=True):
        wanted.setdefault(name, []).append(value)
    assert split_target(f"/api?{text}")[1].values == wanted
