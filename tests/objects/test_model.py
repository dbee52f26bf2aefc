import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.objects.codec import decode_as, encode_json
from steersman.objects.model import Model, field, sparse, wire_name


class Part(Model):
    """One field of each sort."""

    needed: int
    maybe: str | None = None
    count: int = 3
    flag: bool = False
    words: list[str] = field(default_factory=list)
    table: dict[str, int] = {}
    labels: dict[str, str] = sparse(dict)
    from_: str | None = None
    pod_ip: str | None = field(default=None, name="podIP")
    weight: float = field(default=1.5, name="Weight")


def test_none_is_never_sent_and_everything_else_always_is() -> None:
    """A default that is sent does not change when a later version of the class has another default."""
    assert encode_json(Part(needed=1)) == (b'{"needed":1,"count":3,"flag":false,"words":[],"table":{},"Weight":1.5}')


def test_value_equal_to_its_default_is_sent_when_the_author_sets_it() -> None:
    """Server-side apply owns only what is sent."""
    assert b'"count":3' in encode_json(Part(needed=1, count=3))


def test_sparse_collection_is_sent_only_if_it_is_not_empty() -> None:
    """Empty labels mean no labels."""
    part = Part(needed=1)
    assert b"labels" not in encode_json(part)
    part.labels["a"] = "b"
    assert b'"labels":{"a":"b"}' in encode_json(part)


def test_names_on_the_wire_are_camel_case_unless_named() -> None:
    """A trailing underscore only avoids a Python keyword."""
    part = decode_as(Part, b'{"needed":1,"from":"x","podIP":"10.0.0.1","Weight":2}')
    assert (part.from_, part.pod_ip, part.weight) == ("x", "10.0.0.1", 2.0)
    assert encode_json(part).startswith(b'{"needed":1,"count":3')
    assert b'"from":"x","podIP":"10.0.0.1"' in encode_json(part)


def test_defaults_are_not_shared_between_objects() -> None:
    """Changing one object must not change the next one."""
    first, second = Part(needed=1), Part(needed=1)
    first.words.append("x")
    first.table["x"] = 1
    first.labels["x"] = "y"
    assert (second.words, second.table, second.labels) == ([], {}, {})


def test_parts_are_created_with_keyword_arguments() -> None:
    """Positions would break when Kubernetes adds a field."""
    with pytest.raises(TypeError):
        Part(1)


def test_unknown_field_is_ignored_when_decoding() -> None:
    """A newer server may send more than this class knows."""
    assert decode_as(Part, b'{"needed":1,"new":{"a":[1]}}') == Part(needed=1)


def test_subclass_behaves_like_its_base() -> None:
    """Authors extend Status and their own models."""

    class Wider(Part):
        more: list[int] = field(default_factory=list)

    assert b'"count":3' in encode_json(Wider(needed=1))
    assert b'"more":[]' in encode_json(Wider(needed=1))


@given(st.lists(st.from_regex(r"[a-z][a-z0-9]{0,6}", fullmatch=True), min_size=1, max_size=5))
def test_words_are_restored_from_the_wire_name(words: list[str]) -> None:
    """The conversion loses nothing: no two snake_case names of plain words have the same wire name."""
    camel = wire_name("_".join(words))
    assert "_" not in camel
    assert camel.lower() == "".join(words)
    assert sum(letter.isupper() for letter in camel) == sum(word[0].isalpha() for word in words[1:])
