"""The documentation site has every page, and its generated reference says what the code says."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

from steersman.controller.run import kstatus, pause, status_draft
from steersman.errors import AlreadyOwned
from steersman.history.records import MALFORMED
from tools.site.pages import overview
from tools.site.reference import generated_pages, public_packages
from tools.site.sections import ROOT, sections
from tools.site.sources import collect

PAGES = [page for section in sections() for page in section.pages]


def test_every_guide_is_in_one_section() -> None:
    """A guide that is in no section cannot be found on the site."""
    guides = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md")}
    readmes = {path.relative_to(ROOT).as_posix() for path in (ROOT / "examples").glob("*/README.md")}
    assert guides | readmes <= {*PAGES}
    assert len(PAGES) == len({*PAGES})


def test_every_page_of_a_section_exists(tmp_path: Path) -> None:
    """A renamed guide must not leave an entry behind."""
    generated = generated_pages()
    paths = collect(tmp_path, sections(), generated)
    assert {*generated} < {*paths}
    assert all((tmp_path / path).stat().st_size for path in paths)
    assert "- [The command `steer`](reference/steer.md): What `--help` prints" in overview(tmp_path)


@pytest.mark.parametrize("package", public_packages())
def test_every_public_name_is_described(package: str) -> None:
    """The reference is made of docstrings: a name without one would be a bare signature."""
    module = import_module(package)
    values = [getattr(module, name) for name in module.__all__]
    assert [one for one in values if (inspect.isclass(one) or inspect.isroutine(one)) and not one.__doc__] == []


def test_the_reference_has_every_command_setting_error_and_metric() -> None:
    """One example of each, from different ends of the lists."""
    pages = generated_pages()
    assert "## `steer create webhook`" in pages["reference/steer.md"]
    assert "| `env_from` | array |" in pages["reference/settings.md"]
    assert "`AlreadyOwned`" in pages["reference/errors.md"]
    assert "| `controller_runtime_reconcile_total` | counter |" in pages["reference/metrics.md"]


def test_every_reason_of_the_framework_is_documented() -> None:
    """Users meet reasons in kubectl and search for them."""
    page = (ROOT / "docs" / "conditions.md").read_text(encoding="utf-8")
    reasons = {
        status_draft.RECONCILE_FAILED,
        status_draft.CLEANUP_FAILED,
        status_draft.RETRYING,
        pause.REASON,
        kstatus.SUCCEEDED,
        kstatus.RETRYING,
        AlreadyOwned.REASON,
        MALFORMED,
    }
    assert {reason for reason in reasons if f"`{reason}`" not in page} == set()


def test_excerpts_of_both_languages_are_from_programs_that_run() -> None:
    """The page for users of kubebuilder shows parts of two operators; each part must be in its program."""
    page = (ROOT / "docs" / "from-kubebuilder.md").read_text(encoding="utf-8")
    sources = {
        "go": "".join(path.read_text(encoding="utf-8") for path in (ROOT / "bench/go/network").rglob("*.go")),
        "py": "".join(path.read_text(encoding="utf-8") for path in (ROOT / "examples/network/network").rglob("*.py")),
    }
    blocks = re.findall(r"^```(go|py)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 5
    assert [text for language, text in blocks if text not in sources[language]] == []
