"""What a new project and a new kind consist of: file names and texts, nothing is written here."""

from dataclasses import dataclass
from importlib import import_module
from typing import Final

from steersman.errors import ConfigError
from steersman.kinds.index import MODULES
from steersman.scaffold.api import Api
from steersman.scaffold.project import Project
from steersman.scaffold.registration import Import, declare_kind, register_reconciler
from steersman.scaffold.rendering import render
from steersman.version import __version__

#: Template and place of each file of a new project; ``{package}`` is the project's package.
_PROJECT_FILES: Final = {
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    "AGENTS.md": "AGENTS.md",
    "Makefile": "Makefile",
    "Dockerfile": "Dockerfile",
    "constraints.txt": "constraints.txt",
    "dockerignore": ".dockerignore",
    "gitignore": ".gitignore",
    "check.yaml": ".github/workflows/check.yaml",
    "package.py": "{package}/__init__.py",
    "operator.py": "{package}/operator.py",
    "main.py": "{package}/main.py",
    "api_package.py": "{package}/api/__init__.py",
    "reconcilers_package.py": "{package}/reconcilers/__init__.py",
    "test_samples.py": "tests/test_samples.py",
}


def project_files(project: Project) -> dict[str, str]:
    """Return every file of a new project."""
    return {
        place.format(package=project.package): render(f"project/{template}", project=project, steersman=__version__)
        for template, place in _PROJECT_FILES.items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """What is added to a project for a kind."""

    api: Api
    #: Classes and a sample of the kind.
    resource: bool = True
    #: A reconciler and its tests.
    controller: bool = True

    def files(self, project: Project) -> dict[str, str]:
        """Return the files that are added."""
        api = self.api
        found = {}
        if self.resource:
            api.check_custom()
            found[f"{project.package}/api/{api.module}.py"] = self._render("classes.py", project)
            found[f"samples/{api.group.partition('.')[0]}_{api.module}.yaml"] = self._render("sample.yaml", project)
        if self.controller:
            found[f"{project.package}/reconcilers/{self._reconciler}.py"] = self._render("reconciler.py", project)
            found[f"tests/test_{self._reconciler}.py"] = self._render("test.py", project)
        return found

    def is_further_version(self, kept: list[str]) -> bool:
        """Return whether the files that are there belong to another version of the same kind."""
        return any("/reconcilers/" in name for name in kept) and not any("/api/" in name for name in kept)

    def registered(self, main: str, project: Project) -> str:
        """Return the text of ``main.py`` with the kind registered."""
        if self.controller:
            return register_reconciler(main, project.package, self._reconciler)
        # Several versions of one kind can be declared side by side, so each class is imported under a separate name.
        kind = Import(self._class_module(project), self.api.kind, self.api.versioned_kind if self._is_custom else "")
        return declare_kind(main, kind, f"{project.package}.operator")

    @property
    def _reconciler(self) -> str:
        return f"{self.api.variable}_reconciler"

    def _class_module(self, project: Project) -> str:
        if self._is_custom:
            return f"{project.package}.api.{self.api.module}"
        return f"steersman.kinds.{MODULES[self.api.api_version]}"

    @property
    def _is_custom(self) -> bool:
        return self.resource or self.api.api_version not in MODULES

    def _render(self, template: str, project: Project) -> str:
        article = "An" if self.api.kind[0] in "AEIOU" else "A"
        return render(
            f"api/{template}",
            project=project,
            api=self.api,
            article=article,
            article_lower=article.lower(),
            class_module=self._class_module(project),
            is_custom=self._is_custom,
        )


def check_known(api: Api) -> None:
    """Reject a built-in kind without a class."""
    module = MODULES.get(api.api_version)
    if module is not None and not hasattr(import_module(f"steersman.kinds.{module}"), api.kind):
        raise ConfigError(
            f"Kubernetes has no {api.kind} in {api.api_version}: pass --group and --version of a built-in kind, "
            "or add your own with 'steer create api'"
        )
