from urllib.parse import parse_qsl

from hypothesis import given
from hypothesis import strategies as st

from steersman.apiserver.messages.info import split_target


@given(st.text(alphabet="ab=&+%20?/;é", max_size=20))
def test_queries_are_read_as_the_standard_library_reads_them(text: str) -> None:
    """Most queries take a shorter way; it must lead to the same place."""
    wanted: dict[str, list[str]] = {}
    for name, value in parse_qsl(text, keep_blank_values=True):
        wanted.setdefault(name, []).append(value)
    assert split_target(f"/api?{text}")[1].values == wanted
