"""Which images the data of a replica set allows."""

import pytest

from mgors.upgrades import line_of_image, upgrade_problem


@pytest.mark.parametrize(
    ("image", "line"),
    [
        ("mongo:6.0", (6, 0)),
        ("registry.example:5000/team/mongo:7.0.12-jammy", (7, 0)),
        ("mongo:v8.0@sha256:abc", (8, 0)),
        ("registry.example:5000/mongo", None),
        ("mongo:latest", None),
    ],
)
def test_the_release_line_is_read_from_the_tag(image: str, line: tuple[int, int] | None) -> None:
    """The port of a registry is not a tag."""
    assert line_of_image(image) == line


@pytest.mark.parametrize("image", ["mongo:6.0.5", "mongo:6.1", "mongo:7.0", "mongo:latest"])
def test_the_same_release_the_next_one_and_unknown_ones_are_allowed(image: str) -> None:
    """MongoDB supports upgrades from one release to the next."""
    assert upgrade_problem(image, "6.0") == ""
    assert upgrade_problem(image, "") == ""


@pytest.mark.parametrize(("image", "advice"), [("mongo:8.0", "upgrade to MongoDB 7.0 first"), ("mongo:5.0", "older")])
def test_an_image_that_would_crash_with_the_data_is_rejected(image: str, advice: str) -> None:
    """A member that cannot start would be the end of an update: one member less, and a set that does not settle."""
    assert advice in upgrade_problem(image, "6.0")
