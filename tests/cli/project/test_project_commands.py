"""`steer init` and `steer create api`, as a new user runs them."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from steersman.cli import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder, as the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def steer(*arguments: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(main, arguments)


def contents(folder: Path) -> dict[str, str]:
    """Return the content of every file."""
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


CREATE = ("create", "api", "--group", "zhhnzw", "--version", "v1", "--kind", "CustomPod")


def test_a_project_is_created_in_an_empty_folder(folder: Path) -> None:
    """The first two commands of every new user."""
    assert steer("init", "custompod", "--domain", "mock.com").exit_code == 0
    assert steer(*CREATE).exit_code == 0
    assert '"zhhnzw.mock.com/v1"' in contents(folder)["custompod/api/custom_pod_v1.py"]


def test_init_does_not_change_existing_files(folder: Path) -> None:
    """They belong to the user."""
    (folder / "README.md").write_text("mine")
    answer = steer("init", "custompod")
    assert answer.exit_code == 2
    assert answer.stderr == "steer: README.md would be overwritten: nothing was written; use another folder\n"
    assert contents(folder) == {"README.md": "mine"}


def test_create_api_can_be_run_again(folder: Path) -> None:
    """Files that the user edited stay, unless --force is given."""
    steer("init", "custompod", "--domain", "mock.com")
    steer(*CREATE)
    reconciler = folder / "custompod/reconcilers/custom_pod_reconciler.py"
    fresh = contents(folder)
    reconciler.write_text("# mine\n")
    again = steer(*CREATE)
    assert again.exit_code == 0
    assert "kept custompod/reconcilers/custom_pod_reconciler.py" in again.output
    assert reconciler.read_text() == "# mine\n"
    assert steer(*CREATE, "--force").exit_code == 0
    assert contents(folder) == fresh


def test_a_second_version_keeps_the_reconciler_and_is_registered(folder: Path) -> None:
    """One kind, two classes, one reconciler."""
    steer("init", "custompod", "--domain", "mock.com")
    steer(*CREATE)
    answer = steer(*CREATE[:5], "v2", *CREATE[6:])
    assert "storage=True" in answer.output
    main_file = contents(folder)["custompod/main.py"]
    assert "from custompod.api.custom_pod_v2 import CustomPod as CustomPodV2\n" in main_file
    assert "operator.declare(CustomPodV2)" in main_file


WEBHOOK = ("create", "webhook", "--kind", "CustomPod", "--validate", "--default")


def test_create_webhook_can_be_run_again(folder: Path) -> None:
    """Files that the user edited stay, unless --force is given."""
    steer("init", "custompod", "--domain", "mock.com")
    steer(*CREATE)
    first = steer(*WEBHOOK)
    assert first.exit_code == 0
    assert "wrote custompod/webhooks/custom_pod_webhook.py" in first.output
    fresh = contents(folder)
    webhook = folder / "custompod/webhooks/custom_pod_webhook.py"
    webhook.write_text("# mine\n")
    assert "kept custompod/webhooks/custom_pod_webhook.py" in steer(*WEBHOOK).output
    assert webhook.read_text() == "# mine\n"
    assert steer(*WEBHOOK, "--force").exit_code == 0
    assert contents(folder) == fresh


def test_next_steps_name_files_of_the_project(folder: Path) -> None:
    """They used to name docs/validation.md, which is in another repository."""
    steer("init", "custompod", "--domain", "mock.com")
    outputs = [steer(*CREATE).output, steer(*CREATE[:-3], "v1alpha1", *CREATE[-2:]).output]
    outputs += [steer(*WEBHOOK, "--version", "v1").output, steer(*WEBHOOK[:4], "--convert").output]
    steps = [line for output in outputs for line in output.splitlines() if line.startswith("Next: ")]
    named = [name for step in steps for name in re.findall(r"[\w/]+\.\w+", step)]
    assert len(steps) == 4
    assert len(named) == 3
    for name in named:
        assert (folder / name).exists(), name


def test_create_webhook_for_an_unknown_kind_writes_nothing(folder: Path) -> None:
    """The error is one sentence with the next step."""
    steer("init", "custompod", "--domain", "mock.com")
    before = contents(folder)
    answer = steer("create", "webhook", "--kind", "Nothing", "--group", "x.y", "--validate")
    assert answer.exit_code == 2
    assert answer.stderr.startswith("steer: there is no Nothing in this project: add it with 'steer create api'")
    assert contents(folder) == before


def test_create_api_needs_a_project(folder: Path) -> None:
    """The error is one sentence with the next step, no traceback."""
    answer = steer(*CREATE)
    assert answer.exit_code == 2
    assert answer.stderr.count("\n") == 1
    assert "steer init NAME" in answer.stderr
    assert contents(folder) == {}


def test_debug_shows_the_traceback(folder: Path) -> None:
    """The sentence is for users, the traceback for developers."""
    del folder
    answer = steer("--debug", *CREATE)
    assert type(answer.exception).__name__ == "ConfigError"
