"""`steer update`: a project follows the template of a newer Steersman, and keeps what its user wrote."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from steersman.cli import main
from steersman.scaffold.template_record import RECORD, Template, read_record, record_of
from steersman.version import __version__


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a new project, as the current folder."""
    monkeypatch.chdir(tmp_path)
    assert steer("init", "custompod", "--domain", "mock.com").exit_code == 0
    return tmp_path


def steer(*arguments: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(main, arguments)


def made_of(project: Path, name: str, old: str, new: str) -> None:
    """Change the record and the project to a template that had ``old`` where it has ``new`` now."""
    record = read_record((project / RECORD).read_text())
    text = record.files[name].replace(new, old)
    assert text != record.files[name]
    (project / RECORD).write_text(record_of(Template("0.0.9", {**record.files, name: text})))
    (project / name).write_text(text)


def test_a_new_project_is_up_to_date(project: Path) -> None:
    """Nothing is written then."""
    before = (project / RECORD).read_text()
    answer = steer("update")
    assert (answer.exit_code, answer.output) == (0, f"The project is up to date with steersman {__version__}.\n")
    assert (project / RECORD).read_text() == before


def test_a_change_of_the_template_is_merged_beside_a_change_of_the_user(project: Path) -> None:
    """The file has both afterwards, and a second update has nothing to do."""
    made_of(project, "Makefile", "old words", "Show this help")
    makefile = project / "Makefile"
    makefile.write_text(makefile.read_text() + "\nmine:\n\techo mine\n")
    assert steer("update", "--check").exit_code == 1
    assert "old words" in makefile.read_text()
    answer = steer("update")
    assert answer.exit_code == 0
    assert answer.output == f"merged    Makefile\nUpdated from steersman 0.0.9 to {__version__}.\n"
    assert "Show this help" in makefile.read_text()
    assert makefile.read_text().endswith("mine:\n\techo mine\n")
    assert steer("update", "--check").exit_code == 0


def test_a_conflict_is_marked_and_must_be_resolved(project: Path) -> None:
    """Both versions stay in the file; another update does not merge into it."""
    made_of(project, "Makefile", "old words", "Show this help")
    makefile = project / "Makefile"
    makefile.write_text(makefile.read_text().replace("old words", "my words"))
    answer = steer("update")
    assert answer.exit_code == 1
    assert "conflict  Makefile: both have changed the same lines; look for <<<<<<<" in answer.output
    assert answer.output.endswith("; resolve 1 conflict.\n")
    assert "my words" in makefile.read_text()
    assert "Show this help" in makefile.read_text()
    record = read_record((project / RECORD).read_text())
    older = {**record.files, "Makefile": record.files["Makefile"].replace("Show this help", "older words")}
    (project / RECORD).write_text(record_of(Template("0.0.9", older)))
    marked = makefile.read_text()
    again = steer("update")
    assert again.exit_code == 2
    assert "Makefile has conflicts of an earlier update: resolve them first; nothing was changed" in again.stderr
    assert makefile.read_text() == marked


def test_files_that_the_user_deleted_or_made_are_left_alone(project: Path) -> None:
    """Deleting a file is a decision, and a file of the user is not replaced by a new one of the template."""
    made_of(project, "Dockerfile", "# An older remark", "# For reproducible images")
    (project / "Dockerfile").unlink()
    record = read_record((project / RECORD).read_text())
    files = {name: text for name, text in record.files.items() if name != "AGENTS.md"}
    (project / RECORD).write_text(record_of(Template("0.0.9", files)))
    (project / "AGENTS.md").write_text("mine\n")
    answer = steer("update")
    assert "left out  Dockerfile: you have deleted it" in answer.output
    assert "kept      AGENTS.md" in answer.output
    assert not (project / "Dockerfile").exists()
    assert (project / "AGENTS.md").read_text() == "mine\n"


@pytest.mark.parametrize("text", ["", "{", '{"steersman": "1"}', '{"steersman": "1", "files": {"a": "?"}}'])
def test_a_record_that_cannot_be_read_says_what_to_do(project: Path, text: str) -> None:
    """A merge without the base would overwrite the user's lines."""
    (project / RECORD).write_text(text)
    answer = steer("update")
    assert answer.exit_code == 2
    assert f"{RECORD} cannot be read" in answer.stderr
    assert "restore it from version control" in answer.stderr


def test_a_project_without_a_record_is_not_guessed_at(project: Path) -> None:
    """Nothing is known about which lines are the user's."""
    (project / RECORD).unlink()
    answer = steer("update")
    assert answer.exit_code == 2
    assert answer.stderr.startswith(f"steer: {RECORD} is missing, so nothing is known")


def test_conflicts_that_were_not_resolved_are_reported_again(project: Path) -> None:
    """The template is merged already, so nothing is left to update: only the markers tell that work is left."""
    made_of(project, "Makefile", "old words", "Show this help")
    makefile = project / "Makefile"
    makefile.write_text(makefile.read_text().replace("old words", "my words"))
    assert steer("update").exit_code == 1
    for arguments in (["update"], ["update", "--check"]):
        answer = steer(*arguments)
        assert answer.exit_code == 2
        assert "Makefile has conflicts of an earlier update" in answer.stderr


def test_a_project_is_not_taken_back_to_an_older_template(project: Path) -> None:
    """One member of a team has not upgraded yet: the merge would undo what the others got."""
    record = read_record((project / RECORD).read_text())
    (project / RECORD).write_text(record_of(Template("99.0.10", record.files)))
    answer = steer("update")
    assert answer.exit_code == 2
    assert f"was last updated with steersman 99.0.10, and this is {__version__}: upgrade steersman" in answer.stderr
    assert read_record((project / RECORD).read_text()).version == "99.0.10"


def test_check_passes_if_an_update_would_write_nothing(project: Path) -> None:
    """A file that the user deleted would make a CI job fail forever."""
    made_of(project, "Dockerfile", "# An older remark", "# For reproducible images")
    (project / "Dockerfile").unlink()
    answer = steer("update", "--check")
    assert "left out  Dockerfile: you have deleted it" in answer.output
    assert answer.exit_code == 0
