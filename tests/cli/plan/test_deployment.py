"""A plan is made as the operator is deployed: in its namespaces, with its environment."""

import os
from pathlib import Path

import pytest

from steersman.cli.plan.deployment import deployment_of


def test_namespaces_and_variables_are_those_of_the_deployment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the user has set stays, and what only the cluster has is named."""
    (tmp_path / "pyproject.toml").write_text(
        "[tool.steersman]\n"
        'watch = ["red"]\n'
        'env = {PLAN_REGION = "eu", PLAN_ZONE = "a", PLAN_TOKEN = {secret = "t", key = "k"}}\n'
        'env_from = [{secret = "more"}]\n',
        encoding="utf-8",
    )
    monkeypatch.setenv("PLAN_ZONE", "mine")
    found = deployment_of(tmp_path)
    assert found.watch == ("red",)
    with found.variables_set():
        assert (os.environ["PLAN_REGION"], os.environ["PLAN_ZONE"]) == ("eu", "mine")
    assert "PLAN_REGION" not in os.environ
    [note] = found.notes
    assert note.startswith("not set: PLAN_TOKEN, the variables of Secret more, whose value")


def test_without_a_project_nothing_is_set(tmp_path: Path) -> None:
    """An operator that is named by its module need not be that of a project."""
    found = deployment_of(tmp_path)
    assert (found.watch, found.environment, found.notes) == ((), (), ())
