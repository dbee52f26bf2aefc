"""`Project`: one operator's folder, as its ``pyproject.toml`` describes it. Names are checked before they are paths."""

import keyword
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from steersman.errors import ConfigError
from steersman.json_types import JsonObject
from steersman.validation.names import dns1035_faults, label_faults, subdomain_faults

DEFAULT_DOMAIN: Final = "example.com"
#: Packages that a project's own would hide or be hidden by.
_TAKEN: Final = frozenset({"steersman", "tests", "samples", "manifests", *sys.stdlib_module_names})
#: Maximum length of a project's name: the longest name derived from it has 24 more characters and is a DNS label.
_LONGEST_NAME: Final = 39


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """One operator's project. Its name is a DNS label, and the name of its operator."""

    name: str
    #: API groups of the project end in it.
    domain: str = DEFAULT_DOMAIN

    def __post_init__(self) -> None:
        if [*label_faults(self.name), *dns1035_faults(self.name)]:
            raise ConfigError(
                f"a project cannot be named {self.name!r}: use lower-case letters, digits and '-', such as my-operator"
            )
        if len(self.name) > _LONGEST_NAME:
            raise ConfigError(f"a project cannot be named {self.name!r}: it has more than {_LONGEST_NAME} characters")
        if keyword.iskeyword(self.package) or self.package in _TAKEN:
            raise ConfigError(
                f"a project cannot be named {self.name!r}: {self.package!r} is a keyword or another module's name"
            )
        if "." not in self.domain or subdomain_faults(self.domain):
            raise ConfigError(f"{self.domain!r} is not a domain: write one such as {DEFAULT_DOMAIN}")

    @property
    def package(self) -> str:
        """The Python package of the project."""
        return self.name.replace("-", "_")

    @property
    def target(self) -> str:
        """Where the operator is found: what ``steer run`` takes."""
        return f"{self.package}.main:operator"

    @property
    def namespace(self) -> str:
        """The namespace that the operator is deployed to."""
        return f"{self.name}-system"


def _document_of(root: Path) -> JsonObject:
    path = root / "pyproject.toml"
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: {error}") from None


def settings_of(root: Path) -> JsonObject:
    """Return the table ``[tool.steersman]`` of the project in a folder; empty where there is none."""
    tools = _document_of(root).get("tool", {})
    settings = tools.get("steersman", {}) if isinstance(tools, dict) else None
    if not isinstance(settings, dict):
        raise ConfigError(f"{root / 'pyproject.toml'}: [tool.steersman] must be a table")
    return settings


def images_of(root: Path) -> JsonObject:
    """Return which programs of this machine stand for which images, from ``[tool.steersman.images]``."""
    images = settings_of(root).get("images", {})
    if not isinstance(images, dict):
        raise ConfigError(f"{root / 'pyproject.toml'}: [tool.steersman.images] must be a table")
    return images


def version_of(root: Path) -> str:
    """Return the version of the project in a folder."""
    project = _document_of(root).get("project", {})
    return str(project.get("version") or "0.0.0") if isinstance(project, dict) else "0.0.0"


def provider_of(root: Path) -> str:
    """Return the name of the project's first author who has one, otherwise the project's domain."""
    project = _document_of(root).get("project", {})
    authors = project.get("authors", []) if isinstance(project, dict) else []
    names = [str(author["name"]) for author in authors if isinstance(author, dict) and author.get("name")]
    return next(iter(names), str(settings_of(root).get("domain", DEFAULT_DOMAIN)))


def requirements_of(root: Path) -> list[str]:
    """Return what the project in a folder needs at run time."""
    project = _document_of(root).get("project", {})
    found = project.get("dependencies", []) if isinstance(project, dict) else []
    return [str(requirement) for requirement in found] if isinstance(found, list) else []


def project_in(root: Path) -> Project:
    """Read the project in a folder."""
    settings = settings_of(root)
    name, domain = settings.get("name"), settings.get("domain", DEFAULT_DOMAIN)
    if not isinstance(name, str) or not isinstance(domain, str):
        raise ConfigError(f"{root.resolve()} is not a Steersman project: create one with 'steer init NAME'")
    return Project(name=name, domain=domain)
