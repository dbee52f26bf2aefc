"""The generated pages of the reference: public names, commands, settings, errors, metrics."""

import inspect
import json
from collections.abc import Iterator
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from types import ModuleType
from typing import Any

import click
from prometheus_client.metrics_core import Metric

from steersman import errors
from steersman.cli import main as steer
from steersman.manager.metrics.metrics import Metrics
from tools.site.sections import ROOT

_SOURCES = ROOT / "src"


def generated_pages() -> dict[str, str]:
    """Return every generated page by its path."""
    packages = public_packages()
    homes = _homes(packages)
    return {
        "reference/api.md": _api_page(packages),
        **{f"reference/api/{package}.md": _package_page(package, homes) for package in packages},
        "reference/steer.md": _commands_page(),
        "reference/settings.md": _settings_page(),
        "reference/errors.md": _errors_page(),
        "reference/metrics.md": _metrics_page(),
    }


def public_packages() -> list[str]:
    """Return the packages that authors import from; built-in kinds are described by Kubernetes itself."""
    facades = [
        ".".join(path.parent.relative_to(_SOURCES).parts)
        for path in (_SOURCES / "steersman").rglob("__init__.py")
        if "lazy_names(" in path.read_text(encoding="utf-8")
    ]
    return sorted(facades, key=lambda name: (name.count("."), name))


# Public names.


def _api_page(packages: list[str]) -> str:
    rows = "\n".join(f"| [`{name}`](api/{name}.md) | {_first_sentence(import_module(name))} |" for name in packages)
    pages = "\n".join(f"api/{name}" for name in packages)
    return (
        "# Public names\n\n"
        "Every name that an operator's author may rely on, from its docstring and types. Names that are not here may\n"
        "change in any version. [Where names are imported from](../docs/reference.md) lists them on one page; the\n"
        "classes of built-in kinds (`steersman.kinds.core_v1` and so on) have the fields that Kubernetes documents.\n\n"
        f"| package | what is there |\n|---|---|\n{rows}\n\n```{{toctree}}\n:hidden:\n\n{pages}\n```\n"
    )


def _homes(packages: list[str]) -> dict[int, str]:
    """Return the package that documents each value: the first one, if several export it."""
    homes: dict[int, str] = {}
    for package in packages:
        module = import_module(package)
        for name in module.__all__:
            homes.setdefault(id(getattr(module, name)), package)
    return homes


def _package_page(package: str, homes: dict[int, str]) -> str:
    module = import_module(package)
    own, others = [], []
    for name in sorted(module.__all__, key=str.lower):
        value = getattr(module, name)
        home = homes[id(value)]
        if home == package:
            own.append(_directive(package, name, value))
        else:
            others.append(f"{{py:obj}}`{home}.{name}`")
    also = f"Also here: {', '.join(others)}.\n\n" if others else ""
    return (
        f"# {package}\n\n{_first_sentence(module)}\n\n{also}"
        f"```{{eval-rst}}\n.. currentmodule:: {package}\n\n" + "\n".join(own) + "\n```\n"
    )


def _directive(package: str, name: str, value: Any) -> str:
    """Return the directive that documents one name under the package it is imported from."""
    if inspect.isclass(value):
        members = "" if issubclass(value, BaseException) else "   :members:\n"
        return f".. autoclass:: {package}.{name}\n{members}"
    if inspect.isroutine(value):
        return f".. autofunction:: {package}.{name}\n"
    return f".. py:data:: {name}\n\n   ``{value!r}``\n"


def _first_sentence(module: ModuleType) -> str:
    return " ".join((inspect.getdoc(module) or "").split("\n\n")[0].split())


# Commands.


def _commands_page() -> str:
    blocks = "\n".join(f"## `{path}`\n\n```text\n{text.rstrip()}\n```\n" for path, text in _help(steer, "steer", None))
    return f"# The command `steer`\n\nWhat `--help` prints, for every command.\n\n{blocks}"


def _help(one: click.Command, path: str, parent: click.Context | None) -> Iterator[tuple[str, str]]:
    context = click.Context(
        one, info_name=path.rpartition(" ")[2], parent=parent, max_content_width=100, terminal_width=100
    )
    yield path, one.get_help(context)
    if isinstance(one, click.Group):
        for name in one.list_commands(context):
            inner = one.get_command(context, name)
            if inner is not None and not inner.hidden:
                yield from _help(inner, f"{path} {name}", context)


# Settings.


def _settings_page() -> str:
    schema = json.loads(files("steersman.scaffold").joinpath("settings.schema.json").read_text(encoding="utf-8"))
    rows = "\n".join(
        f"| `{key}` | {_type_of(one)} | {one['description']} |" for key, one in schema["properties"].items()
    )
    return (
        "# `[tool.steersman]` in `pyproject.toml`\n\n"
        f"{schema['description']}\n\n| key | value | meaning |\n|---|---|---|\n{rows}\n\n"
        "An unknown key is an error. The table has a JSON schema for editors, in the wheel as\n"
        "`steersman/scaffold/settings.schema.json`.\n"
    )


def _type_of(one: dict[str, Any]) -> str:
    return {
        "string": "text",
        "integer": "whole number",
        "boolean": "true or false",
        "array": "array",
        "object": "table",
    }[one["type"]]


# Errors.


def _errors_page() -> str:
    rows = "\n".join(_error_rows(errors.SteersmanError, 0))
    return (
        "# Errors\n\n"
        "Every exception that Steersman raises on purpose, in one tree; all are in `steersman.errors`. An indented\n"
        "class is a subclass of the one above it. The message of an error says what is wrong and what to do.\n\n"
        f"| class | raised when |\n|---|---|\n{rows}\n"
    )


def _error_rows(class_: type[BaseException], depth: int) -> Iterator[str]:
    text = " ".join((inspect.getdoc(class_) or "").split()).replace("``", "`").replace("|", "\\|")
    yield f"| {'&nbsp;&nbsp;&nbsp;' * depth}`{class_.__name__}` | {text} |"
    for inner in class_.__subclasses__():
        if inner.__module__ == errors.__name__:
            yield from _error_rows(inner, depth + 1)


# Metrics.


def _metrics_page() -> str:
    rows = "\n".join(sorted(map(_metric_row, Metrics().registry.collect())))
    return (
        "# Metrics\n\n"
        "What an operator serves under `/metrics`, beside the metrics of its author. Metrics that controller-runtime\n"
        "has, too, keep its names, so that its dashboards work; those of Steersman alone begin with `steersman_`.\n\n"
        f"| name | type | meaning |\n|---|---|---|\n{rows}\n"
    )


def _metric_row(metric: Metric) -> str:
    suffix = "_total" if metric.type == "counter" else ""
    return f"| `{metric.name}{suffix}` | {metric.type} | {metric.documentation} |"


def write(folder: Path) -> None:
    """Write the generated pages below a folder, to look at them."""
    for path, text in generated_pages().items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
