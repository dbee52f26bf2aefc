"""Find the operator of a command: MODULE:OPERATOR, or the operator of the project in this folder."""

import sys
import traceback
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from steersman.manager.operator import Operator
    from steersman.scaffold.manifests.shape import Shape

_OPERATOR, SCENARIO = "MODULE:OPERATOR", "MODULE:SCENARIO"
_EXAMPLES = {_OPERATOR: "my_operator.main:operator", SCENARIO: "tests.scenarios:rollout"}

#: The option of every command that needs an operator.
operator_option = click.option(
    "--operator", "target", metavar="MODULE:OPERATOR", help="Operator; default: the project's."
)
image_option = click.option(
    "--image", metavar="IMAGE", default="", help="Container image; default: from pyproject.toml."
)


@dataclass(frozen=True, slots=True)
class Declared:
    """An operator, and how it is deployed."""

    operator: "Operator"
    shape: "Shape"
    version: str


def load_operator(target: str | None) -> "Operator":
    """Return an operator by ``module:name``; modules of the current directory are found too."""
    from steersman.manager.operator import Operator

    target = target or project_target()
    found = load_target(target)
    if not isinstance(found, Operator):
        raise _wrong(f"{target} is not an Operator, but of the type {type(found).__name__}", "MODULE:OPERATOR")
    return found


def load_target(target: str, what: str = _OPERATOR) -> object:
    """Return a global of a module by ``module:name``; modules of the current directory are found too.

    ``what`` is the parameter that an error names.
    """
    module_name, colon, name = target.partition(":")
    if not colon or not module_name or not name:
        raise _wrong(f"{target!r} is not {what}, such as {_EXAMPLES[what]}", what)
    if "" not in sys.path:
        sys.path.insert(0, "")
    module = _imported(module_name, what)
    try:
        found: object = getattr(module, name)
    except AttributeError:
        raise _wrong(f"the module {module_name} has no {name!r}", what) from None
    return found


def _wrong(message: str, parameter: str = _OPERATOR) -> click.BadParameter:
    return click.BadParameter(message, param_hint=parameter)


def _imported(name: str, parameter: str) -> ModuleType:
    """Import a module of the user; report any error with its location."""
    from steersman.errors import SteersmanError

    try:
        return import_module(name)
    except SteersmanError:
        raise
    except SystemExit as error:
        raise _wrong(f"cannot import {name!r}: it ends the process by sys.exit({error.code!r})", parameter) from error
    except Exception as error:
        what = f"{type(error).__name__}: {error}" if not isinstance(error, ModuleNotFoundError) else str(error)
        raise _wrong(f"cannot import {name!r}: {what}{_place(error)}", parameter) from error


def _place(error: Exception) -> str:
    """Return the line of the user's code that failed, if there is one."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith("<") and "importlib" not in frame.filename]
    return f" ({own[-1].filename}, line {own[-1].lineno})" if len(own) > 1 else ""


def project_target(root: Path | None = None, *, option: str = "--operator MODULE:OPERATOR") -> str:
    """Return the operator of the project in a folder, by default this one, as its ``pyproject.toml`` names it.

    ``option`` is how users pass an operator to the command; the error for a folder without a project names it.
    """
    from steersman.scaffold.project import settings_of

    target = settings_of(root or Path.cwd()).get("operator")
    if not isinstance(target, str):
        place = "this folder" if root is None else str(root)
        raise click.UsageError(
            f"there is no project in {place}: change to one, create one with 'steer init NAME', or pass {option}"
        )
    return target


def declared(target: str | None, image: str = "") -> Declared:
    """Return an operator and how the project in this folder deploys it."""
    from steersman.scaffold.manifests.shape import name_of, shape_from
    from steersman.scaffold.project import settings_of, version_of

    root = Path.cwd()
    operator = load_operator(target)
    version = version_of(root)
    shape = shape_from(settings_of(root), name_of(operator), version=version, image=image)
    _check_arguments(shape.args)
    return Declared(operator, shape, version)


def _check_arguments(args: tuple[str, ...]) -> None:
    """Reject arguments of the deployed ``steer run`` that it would not start with."""
    if not args:
        return
    from steersman.cli.run import command
    from steersman.errors import ConfigError

    try:
        command.make_context("run", list(args))
    except click.UsageError as error:
        raise ConfigError(f"pyproject.toml, [tool.steersman]: args: {error.format_message()}") from None
