"""What is added to a project for the webhooks of a kind: functions, tests, and the conversion between its versions."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

from steersman.errors import ConfigError
from steersman.kinds.index import MODULES
from steersman.scaffold.api import Api
from steersman.scaffold.files import check_known
from steersman.scaffold.project import Project
from steersman.scaffold.registration import Import, natural_order, register_module
from steersman.scaffold.rendering import render
from steersman.scaffold.tree import Tree

_TEMPLATES: Final = "webhook"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookAddition:
    """Functions that validate and default a kind, or the conversion between its versions."""

    api: Api
    is_custom: bool
    #: The file of a sample, if there is one; tests begin with it.
    sample: str = ""
    validate: bool = False
    default: bool = False
    #: The versions between which objects are converted; empty without conversion.
    versions: tuple[str, ...] = ()

    def files(self, project: Project) -> dict[str, str]:
        """Return the files that are added."""
        package, found = project.package, {}
        if self.validate or self.default:
            found[f"{package}/webhooks/__init__.py"] = self._render("webhooks_package.py", project)
            found[f"{package}/webhooks/{self._module}.py"] = self._render("webhook.py", project)
            found[f"tests/test_{self._module}.py"] = self._render("test.py", project)
        if self.versions:
            found[f"{package}/api/{self._versions_module}.py"] = self._render("versions.py", project)
            found[f"tests/test_{self._versions_module}.py"] = self._render("test_versions.py", project)
        return found

    def registered(self, main: str, project: Project) -> str:
        """Return the text of ``main.py`` with all of it imported."""
        if self.validate or self.default:
            main = register_module(main, project.package, "webhooks", self._module)
        if self.versions:
            main = register_module(main, project.package, "api", self._versions_module)
        return main

    @property
    def _module(self) -> str:
        return f"{self.api.variable}_webhook"

    @property
    def _versions_module(self) -> str:
        return f"{self.api.variable}_versions"

    def _imports(self, project: Project) -> list[str]:
        """Return the imports of the classes of all versions, in the order that linters want."""
        apis = [replace(self.api, version=version) for version in self.versions]
        modules = {f"{project.package}.api.{api.module}": api for api in apis}
        return [
            str(Import(name, modules[name].kind, modules[name].versioned_kind))
            for name in sorted(modules, key=natural_order)
        ]

    def _render(self, template: str, project: Project) -> str:
        article = "an" if self.api.kind[0] in "AEIOU" else "a"
        custom = f"{project.package}.api.{self.api.module}"
        return render(
            f"{_TEMPLATES}/{template}",
            project=project,
            api=self.api,
            article_lower=article,
            class_module=custom if self.is_custom else f"steersman.kinds.{MODULES[self.api.api_version]}",
            is_custom=self.is_custom,
            module=self._module,
            sample=self.sample,
            validate=self.validate,
            default=self.default,
            versions=self.versions,
            imports=self._imports(project),
            pairs=list(combinations(self.versions, 2)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookRequest:
    """The arguments of the command."""

    kind: str
    group: str = ""
    version: str = ""
    validate: bool = False
    default: bool = False
    convert: bool = False

    def found_in(self, tree: Tree, project: Project) -> WebhookAddition:
        """Return the kind: one of the project, or a built-in one."""
        if not (self.validate or self.default or self.convert):
            raise ConfigError("pass at least one of --validate, --default or --convert")
        wanted = Api(group=self.group, version=self.version or "v1", kind=self.kind)
        versions = _versions(tree.names(f"{project.package}/api"), wanted.variable)
        if not versions:
            return self._built_in(wanted)
        version = self.version or (versions[0] if len(versions) == 1 or self.convert else "")
        if version not in versions:
            raise ConfigError(f"pass --version: {self.kind} has the versions {', '.join(versions)}")
        if self.convert and len(versions) == 1:
            raise ConfigError(
                f"{self.kind} has only the version {version}: add another one with 'steer create api' first"
            )
        api = Api(group=self.group, version=version, kind=self.kind)
        samples = [name for name in tree.names("samples") if name.endswith(f"_{api.module}.yaml")]
        return WebhookAddition(
            api=api,
            is_custom=True,
            sample=f"samples/{samples[0]}" if samples else "",
            validate=self.validate,
            default=self.default,
            versions=_oldest_first(versions) if self.convert else (),
        )

    def _built_in(self, api: Api) -> WebhookAddition:
        if api.api_version not in MODULES:
            raise ConfigError(
                f"there is no {self.kind} in this project: add it with 'steer create api', or pass --group and "
                "--version of a built-in kind"
            )
        check_known(api)
        if self.convert:
            raise ConfigError(f"{self.kind} is a built-in kind: Kubernetes converts between its versions itself")
        return WebhookAddition(api=api, is_custom=False, validate=self.validate, default=self.default)


def _versions(files: Sequence[str], variable: str) -> list[str]:
    """Return the versions that modules are named after: ``custom_pod_v1.py``."""
    found = [re.fullmatch(rf"{re.escape(variable)}_(v\d+(?:(?:alpha|beta)\d+)?)\.py", name) for name in files]
    return [match[1] for match in found if match is not None]


def _oldest_first(versions: Sequence[str]) -> tuple[str, ...]:
    """Return versions by their age: v1alpha1, v1beta1, v1, v2."""
    return tuple(sorted(versions, key=lambda version: (_major(version), _maturity(version), version)))


def _major(version: str) -> int:
    digits = "".join(letter if letter.isdigit() else " " for letter in version).split()
    return int(digits[0]) if digits else 0


def _maturity(version: str) -> int:
    return 0 if "alpha" in version else 1 if "beta" in version else 2
