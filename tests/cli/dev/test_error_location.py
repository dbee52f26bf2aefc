"""The location of a failure in the author's files."""

import sys
from pathlib import Path

import pytest

from steersman.cli.dev.error_location import place_of, text_of

CALLS_INSTALLED = "import installed\ndef go():\n    return installed.fail()\n"
FAILS = "def fail():\n    raise KeyError('x')\n"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a project with a virtual environment inside, both importable."""
    packages = tmp_path / ".venv/lib/site-packages"
    packages.mkdir(parents=True)
    (packages / "installed.py").write_text(FAILS)
    (tmp_path / "own_module.py").write_text(CALLS_INSTALLED)
    (tmp_path / "own_broken.py").write_text("x = 1\n\ndef broken(:\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.syspath_prepend(packages)
    for name in ("installed", "own_module"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def test_the_last_line_in_the_authors_files_is_reported(root: Path) -> None:
    """Not a line of a library, even if that is inside the project's folder."""
    import own_module  # type: ignore[import-not-found]  # noqa: PLC0415 - made for this test

    with pytest.raises(KeyError) as failure:
        own_module.go()
    assert place_of(failure.value, root) == "own_module.py:3"
    assert text_of(failure.value) == "KeyError: 'x'"


def test_a_syntax_error_is_reported_at_its_line(root: Path) -> None:
    """It has no stack frame: no line of the file ran."""
    with pytest.raises(SyntaxError) as failure:
        __import__("own_broken")
    assert place_of(failure.value, root) == "own_broken.py:3"
    assert text_of(failure.value) == "SyntaxError: invalid syntax"


def test_a_failure_outside_the_authors_files_has_no_location(tmp_path: Path) -> None:
    """A wrong location is worse than none."""
    with pytest.raises(ValueError, match="invalid") as failure:
        int("x")
    assert place_of(failure.value, tmp_path) == ""
    assert text_of(RuntimeError()) == "RuntimeError"
