"""`steer create webhook`: how the kind is found, and what is added for it."""

from pathlib import Path

import pytest

from steersman.errors import ConfigError
from steersman.scaffold.api import Api
from steersman.scaffold.files import Addition, project_files
from steersman.scaffold.project import Project
from steersman.scaffold.tree import Tree
from steersman.scaffold.webhooks import WebhookAddition, WebhookRequest

PROJECT = Project(name="ports", domain="example.com")


def _project(root: Path, *versions: str) -> Tree:
    tree = Tree(root)
    tree.add(project_files(PROJECT))
    for version in versions:
        addition = Addition(api=Api(group="sea.example.com", version=version, kind="LightHouse"), controller=False)
        tree.put(addition.files(PROJECT))
    return tree


def test_a_kind_of_the_project_is_found_by_its_name(tmp_path: Path) -> None:
    """Users should not have to repeat group and version."""
    found = WebhookRequest(kind="LightHouse", validate=True).found_in(_project(tmp_path, "v1beta1"), PROJECT)
    assert found == WebhookAddition(
        api=Api(group="", version="v1beta1", kind="LightHouse"),
        is_custom=True,
        sample="samples/sea_light_house_v1beta1.yaml",
        validate=True,
    )


def test_of_several_versions_one_must_be_named(tmp_path: Path) -> None:
    """A guess would be wrong half of the time."""
    tree = _project(tmp_path, "v1", "v1beta1")
    with pytest.raises(ConfigError, match="pass --version: LightHouse has the versions v1, v1beta1"):
        WebhookRequest(kind="LightHouse", default=True).found_in(tree, PROJECT)
    assert WebhookRequest(kind="LightHouse", version="v1", default=True).found_in(tree, PROJECT).default


def test_versions_are_converted_from_the_oldest_to_the_newest(tmp_path: Path) -> None:
    """That is the order in which users read them."""
    tree = _project(tmp_path, "v2", "v1", "v1beta1", "v1alpha1", "v10")
    found = WebhookRequest(kind="LightHouse", convert=True).found_in(tree, PROJECT)
    assert found.versions == ("v1alpha1", "v1beta1", "v1", "v2", "v10")
    text = found.files(PROJECT)["ports/api/light_house_versions.py"]
    assert text.count("renames(LightHouse") == 10


def test_a_built_in_kind_needs_its_group_and_version(tmp_path: Path) -> None:
    """The project contains nothing to find it by."""
    tree = _project(tmp_path)
    found = WebhookRequest(kind="Deployment", group="apps", version="v1", validate=True).found_in(tree, PROJECT)
    assert not found.is_custom
    assert WebhookRequest(kind="Pod", validate=True).found_in(tree, PROJECT).api.api_version == "v1"
    with pytest.raises(ConfigError, match="Kubernetes has no Deployment in v1"):
        WebhookRequest(kind="Deployment", validate=True).found_in(tree, PROJECT)
    with pytest.raises(ConfigError, match="no LightHouse in this project"):
        WebhookRequest(kind="LightHouse", group="sea", validate=True).found_in(tree, PROJECT)


def test_invalid_arguments_are_rejected_with_the_next_step(tmp_path: Path) -> None:
    """Nothing is written then."""
    tree = _project(tmp_path, "v1")
    with pytest.raises(ConfigError, match="--validate, --default or --convert"):
        WebhookRequest(kind="LightHouse").found_in(tree, PROJECT)
    with pytest.raises(ConfigError, match="add another one with 'steer create api'"):
        WebhookRequest(kind="LightHouse", convert=True).found_in(tree, PROJECT)
    with pytest.raises(ConfigError, match="Pod is a built-in kind"):
        WebhookRequest(kind="Pod", convert=True).found_in(tree, PROJECT)


def test_registering_twice_changes_nothing(tmp_path: Path) -> None:
    """The command can be run again."""
    tree = _project(tmp_path, "v1", "v2")
    addition = WebhookRequest(kind="LightHouse", version="v1", validate=True, convert=True).found_in(tree, PROJECT)
    main = tree.read("ports/main.py")
    assert main is not None
    once = addition.registered(main, PROJECT)
    assert "from ports.webhooks import light_house_webhook\n" in once
    assert "from ports.api import light_house_versions\n" in once
    assert addition.registered(once, PROJECT) == once
