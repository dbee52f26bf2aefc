import pytest

from steersman.apiserver.yaml_text import YamlFault, parse_yaml


@pytest.mark.parametrize("opening", [b"[", b"{a: ", b"- "])
def test_a_body_that_nests_without_end_is_refused(opening: bytes) -> None:
    """The C library composes by recursion: one such body would end the whole server."""
    with pytest.raises(YamlFault):
        parse_yaml(b"a: " + opening * 100_000 if opening != b"- " else opening * 100_000)


def test_only_the_first_document_is_looked_at() -> None:
    """A real server reads the first document and ignores what follows, whatever it is."""
    assert parse_yaml(b"a: 1\n---\nb: " + b"[" * 100_000) == ({"a": 1}, [])
