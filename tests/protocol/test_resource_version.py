import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.protocol.resource_version import is_older, is_resource_version

_versions = st.integers(1, 10**40)


@given(_versions, _versions)
def test_versions_are_ordered_as_integers_of_any_length(left: int, right: int) -> None:
    """Servers may count beyond 64 bits; Python's integers are the oracle."""
    assert is_older(str(left), str(right)) is (left < right)


@pytest.mark.parametrize("text", ["", "0", "007", "-1", "1.5", "abc", "1e3", " 1", "１"])  # noqa: RUF001 - a digit that is none
def test_other_texts_are_not_versions(text: str) -> None:
    """Zero requests any version and is never the version of an object; leading zeros would break the order."""
    assert not is_resource_version(text)
    with pytest.raises(ValueError, match="can be ordered"):
        is_older(text, "5")
