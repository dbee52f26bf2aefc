"""The JSON schema of `[tool.steersman]` accepts what `steer` accepts: an editor must not contradict it."""

import json
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from steersman.errors import ConfigError
from steersman.scaffold.manifests.settings import SETTINGS, parsed

SCHEMA = json.loads(files("steersman.scaffold").joinpath("settings.schema.json").read_text(encoding="utf-8"))
RIGHT: list[dict[str, Any]] = [
    {},
    {"replicas": 3, "watch": ["a"], "monitoring": True, "image": "registry/a:1"},
    {"env": {"A": "b", "C": 1, "D": True, "E": {"secret": "s", "key": "k"}, "F": {"field": "metadata.name"}}},
    {"env_from": [{"secret": "a", "prefix": "P_"}, {"config_map": "b", "optional": True}]},
    {"resources": {"requests": {"cpu": "500m", "memory": 1}}, "node_selector": {"disk": "ssd"}},
    {"tolerations": [{"key": "a", "value": "b", "effect": "NoExecute", "toleration_seconds": 3}]},
    {"volumes": {"/data": "claim", "/cache": {"empty_dir": "1Gi"}, "/etc/x": {"secret": "s", "read_only": True}}},
    {"args": ["--workers=3"], "image_pull_secrets": ["a"], "webhook_secret": "tls", "namespace": "n"},
]
WRONG: list[dict[str, Any]] = [
    {"replica": 3},
    {"replicas": "3"},
    {"watch": "a"},
    {"env": {"A": ["b"]}},
    {"env_from": {"secret": "a"}},
    {"resources": {"request": {}}},
    {"tolerations": [{"operator": "In"}]},
    {"volumes": {"data": "claim"}},
    {"monitoring": "yes"},
]


def is_accepted(settings: dict[str, Any]) -> bool:
    """Return whether the schema accepts the settings of a project."""
    return jsonschema_rs.is_valid(SCHEMA, {"name": "a", **settings})


def test_the_schema_has_the_keys_that_are_read() -> None:
    """A new setting must be known to editors, too."""
    assert {*SCHEMA["properties"]} == {*SETTINGS, "name", "domain", "operator", "images"}
    assert all(one["description"] for one in SCHEMA["properties"].values())


@pytest.mark.parametrize("settings", RIGHT, ids=str)
def test_what_steer_accepts_is_accepted(settings: dict[str, Any]) -> None:
    """An editor must not mark a setting that works."""
    parsed(settings)
    assert is_accepted(settings)


@pytest.mark.parametrize("settings", WRONG, ids=str)
def test_what_steer_rejects_is_rejected(settings: dict[str, Any]) -> None:
    """A mistake is seen while it is typed."""
    with pytest.raises(ConfigError):
        parsed(settings)
    assert not is_accepted(settings)


@pytest.mark.parametrize("path", sorted(Path("examples").glob("*/pyproject.toml")), ids=lambda path: path.parent.name)
def test_the_examples_fit(path: Path) -> None:
    """They are what authors copy from."""
    assert jsonschema_rs.is_valid(SCHEMA, tomllib.loads(path.read_text(encoding="utf-8"))["tool"]["steersman"])
