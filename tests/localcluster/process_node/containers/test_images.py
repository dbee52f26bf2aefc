"""Which programs an image is mapped to."""

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
    """In any spelling of a manifest."""
    assert Images({pattern: PYTHON}).find(image).pattern == pattern


@pytest.mark.parametrize("image", ["redis-sentinel", "redis:7.2", "my/redis", ""])
def test_an_unmapped_image_is_unknown(image: str) -> None:
    """A name does not match as a prefix."""
    with pytest.raises(ImageError, match=r"\[tool\.steersman\.images\]"):
        Images({"redis:6": PYTHON}).find(image)


def test_the_exact_name_takes_precedence_over_patterns_and_a_longer_over_a_shorter_one() -> None:
    """So one version can be mapped to another program."""
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
def test_an_entry_is_a_path_a_command_or_a_table(entry: Any, command: tuple[str, ...]) -> None:
    """The short form is for the usual case."""
    assert Images({"a": entry}).find("a").command == command


@pytest.mark.parametrize("entry", ["", [], {}, 7, {"comand": "x"}, {"programs": ["x"]}, [1], {"programs": {"a": 1}}])
def test_an_entry_without_a_program_is_rejected_when_the_node_is_created(entry: Any) -> None:
    """A mistake in pyproject.toml is reported at the start, not with the first pod."""
    with pytest.raises(ConfigError, match=r'"a" names no program: write "path"'):
        Images({"a": entry})


def test_programs_are_found_by_name_whatever_their_path_in_the_image() -> None:
    """`/usr/local/bin/python` inside an image is the python of the mapping."""
    image = Images({"a": {"command": [PYTHON, "-c"], "programs": {"sh": "sh"}}}).find("a")
    assert image.program(Path(PYTHON).name) == PYTHON
    assert image.program(f"/usr/local/bin/{Path(PYTHON).name}") == PYTHON
    assert Path(image.program("sh")).is_absolute()


@pytest.mark.parametrize("name", ["ls", "/bin/ls", "", "sh -c", "../sh/", "/"])
def test_an_unmapped_program_is_unknown(name: str) -> None:
    """No other program is ever executed."""
    with pytest.raises(ProgramError, match="executable file not found"):
        Images({"a": {"programs": {"sh": "sh"}}}).find("a").program(name)


def test_a_program_missing_on_this_machine_is_reported() -> None:
    """The mapping is right, the installation is missing."""
    with pytest.raises(ProgramError, match='"/nowhere/redis-server" is not a program on this machine'):
        Images({"a": "/nowhere/redis-server"}).find("a").program("redis-server")
