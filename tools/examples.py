"""The example projects, and their files that are exactly as ``steer init`` writes them.

``python -m tools.examples`` writes these files again after a change of a template.
"""

from pathlib import Path

from steersman.scaffold.files import project_files
from steersman.scaffold.project import project_in

EXAMPLES = Path(__file__).parent.parent / "examples"
#: Targets that the Makefile of every example includes.
TARGETS = EXAMPLES / "project.mk"
#: Files that no example needs to change.
_UNCHANGED = (".dockerignore", "Dockerfile", "constraints.txt")


def examples() -> list[str]:
    """Return the names of all examples."""
    return sorted(path.parent.name for path in EXAMPLES.glob("*/pyproject.toml"))


def generated_files() -> dict[Path, str]:
    """Return the content of every file that follows from the templates of ``steer init``."""
    found: dict[Path, str] = {}
    for name in examples():
        project = project_in(EXAMPLES / name)
        files = project_files(project)
        found |= {EXAMPLES / name / place: files[place] for place in _UNCHANGED}
        # Only the name of the image differs between projects.
        found[TARGETS] = files["Makefile"].replace(f"IMG ?= {project.name}:latest\n", "")
    return found


if __name__ == "__main__":
    for path, text in generated_files().items():
        path.write_text(text, encoding="utf-8")
