"""Contents that were read of kinds whose cache has only metadata: which of them are still current."""

from steersman.controller.reports.writes import Target
from steersman.controller.run.contents import Contents
from steersman.objects.identity import GroupVersionKind, ObjectKey
from tests.controller.conftest import record

TARGET = Target(GroupVersionKind("", "v1", "Secret"), ObjectKey("ns", "a"))


def test_a_content_is_current_until_the_cache_shows_a_newer_version() -> None:
    """A cache that is behind the content shows an older version: the content is the newer of the two."""
    contents = Contents()
    contents.remember(TARGET, "uid-a", "10", b"content")
    assert contents.find(TARGET, record(version="9")) == b"content"
    assert contents.find(TARGET, record(version="10")) == b"content"
    assert contents.find(TARGET, record(version="11")) is None


def test_the_content_of_an_earlier_object_of_the_same_name_is_not_used() -> None:
    """Versions of different objects say nothing about each other."""
    contents = Contents()
    contents.remember(TARGET, "uid-a", "10", b"content")
    assert contents.find(TARGET, record(version="9", uid="another")) is None


def test_a_version_that_cannot_be_compared_is_not_trusted() -> None:
    """Aggregated servers may number versions as they like."""
    contents = Contents()
    contents.remember(TARGET, "uid-a", "abc", b"content")
    assert contents.find(TARGET, record(version="abc")) == b"content"
    assert contents.find(TARGET, record(version="abd")) is None


def test_the_longest_unused_contents_go_first() -> None:
    """Memory is bounded; a content that is missing only costs a request."""
    contents = Contents(most_bytes=25)
    a, b, c = (Target(TARGET.gvk, ObjectKey("ns", name)) for name in "abc")
    for target in (a, b):
        contents.remember(target, f"uid-{target.key.name}", "1", b"x" * 10)
    contents.find(a, record("a", "1"))
    contents.remember(c, "uid-c", "1", b"x" * 10)
    assert (len(contents), contents.bytes) == (2, 20)
    assert contents.find(b, record("b", "1")) is None
    assert contents.find(a, record("a", "1")) is not None
    contents.remember(c, "uid-c", "2", b"x" * 100)
    assert (len(contents), contents.bytes) == (0, 0), "one that is too large is not kept"
    contents.forget(c)
    assert "xxx" not in repr(contents)
