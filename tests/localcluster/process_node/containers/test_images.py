"""Which programs stand for which image."""

import sys
from pathlib import Path
from typing import Any

import pytest

from steersman.errors import ConfigError
from steersman.localcluster.process_node.containers.images import Image, Images
from steersman.localcluster.process_node.containers.problem import ImageError, ProgramError

PYTHON = sys.executable


@pytest.mark.parametrize(
    ("pattern", "image"),
    [
        ("redis", "redis"),
        ("redis", "redis:7.2"),
        ("redis", "docker.io/library/redis:7.2"),
        ("redis", "redis@sha256:0000"),
        ("redis", "redis:7.2@sha256:0000"),
        ("redis:*", "redis:7"),
        ("registry.example.com:5000/team/app", "registry.example.com:5000/team/app:v1"),
        ("*/app:*", "registry.example.com/app:v1"),
        ("bitnami/mongodb", "docker.io/bitnami/mongodb:7"),
        ("redis:7.2", "redis:7.2"),
    ],
)
def test_an_image_is_found_by_its_name_or_a_pattern(pattern: str, image: str) -> None:
    """However a manifest spells it."""
    assert Images({pattern: PYTHON}).find(image).pattern == pattern


@pytest.mark.parametrize("image", ["redis-sentinel", "redis:7.2", "my/redis", ""])
def test_an_image_that_is_not_named_is_unknown(image: str) -> None:
    """A name is no beginning of a name."""
    with pytest.raises(ImageError, match=r"\[tool\.steersman\.images\]"):
        Images({"redis:6": PYTHON}).find(image)


def test_the_very_name_wins_over_patterns_and_the_longer_pattern_over_the_shorter() -> None:
    """So that one version can be another program."""
    images = Images({"*": PYTHON, "redis:*": PYTHON, "redis:7": PYTHON})
    assert [images.find(name).pattern for name in ("redis:7", "redis:6", "nginx")] == ["redis:7", "redis:*", "*"]


@pytest.mark.parametrize(
    ("entry", "command"),
    [
        (PYTHON, (PYTHON,)),
        ([PYTHON, "-m", "app"], (PYTHON, "-m", "app")),
        ({"command": [PYTHON, "-c"]}, (PYTHON, "-c")),
        ({"command": PYTHON}, (PYTHON,)),
        ({"programs": {"python": PYTHON}}, ()),
        (Image(command=(PYTHON,)), (PYTHON,)),
    ],
)
def test_an_entry_is_a_path_a_command_or_both_and_programs(entry: Any, command: tuple[str, ...]) -> None:
    """The short form for the usual case."""
    assert Images({"a": entry}).find("a").command == command


@pytest.mark.parametrize("entry", ["", [], {}, 7, {"comand": "x"}, {"programs": ["x"]}, [1], {"programs": {"a": 1}}])
def test_an_entry_that_names_no_program_is_refused_when_the_node_is_made(entry: Any) -> None:
    """A mistake in pyproject.toml is told at the start, not with the first pod."""
    with pytest.raises(ConfigError, match=r'"a" names no program: write "path"'):
        Images({"a": entry})


def test_programs_are_called_by_their_names_wherever_the_image_has_them() -> None:
    """`/usr/local/bin/python` inside an image is the python of the map."""
    image = Images({"a": {"command": [PYTHON, "-c"], "programs": {"sh": "sh"}}}).find("a")
    assert image.program(Path(PYTHON).name) == PYTHON
    assert image.program(f"/usr/local/bin/{Path(PYTHON).name}") == PYTHON
    assert Path(image.program("sh")).is_absolute()


@pytest.mark.parametrize("name", ["ls", "/bin/ls", "", "sh -c", "../sh/", "/"])
def test_a_program_that_is_not_named_is_unknown(name: str) -> None:
    """Nothing else is ever executed."""
    with pytest.raises(ProgramError, match="executable file not found"):
        Images({"a": {"programs": {"sh": "sh"}}}).find("a").program(name)


def test_a_program_that_this_machine_does_not_have_is_told_of() -> None:
    """The map is right, the installation is missing."""
    with pytest.raises(ProgramError, match='"/nowhere/redis-server" is not a program on this machine'):
        Images({"a": "/nowhere/redis-server"}).find("a").program("redis-server")
