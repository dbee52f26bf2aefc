"""Types of options whose help should be short: a port, a number, a number of seconds, a namespace."""

from typing import Any

import click

_HIGHEST_PORT = 65535


class _Port(click.ParamType):  # type: ignore[type-arg]  # generic only in newer releases of click
    """A TCP port; 0 lets the system choose."""

    name = "port"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return a port, or fail with the reason."""
        text = str(value)
        if not text.isdecimal() or int(text) > _HIGHEST_PORT:
            self.fail(f"{value!r} is not a port: pass a number from 0 to {_HIGHEST_PORT}", param, ctx)
        return int(text)


class _Number(click.ParamType):  # type: ignore[type-arg]  # same
    """A whole number, not below a limit."""

    name = "number"

    def __init__(self, least: int) -> None:
        self._least = least

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return a number, or fail with the reason."""
        text = str(value)
        if not text.isdecimal() or int(text) < self._least:
            self.fail(f"{text!r} is not a number: pass {self._least} or more", param, ctx)
        return int(text)


class _Seconds(click.ParamType):  # type: ignore[type-arg]  # same
    """A number of seconds, not below zero."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return a number of seconds, or fail with the reason."""
        try:
            seconds = float(value)
        except ValueError:
            seconds = -1.0
        if not 0 <= seconds < float("inf"):
            self.fail(f"{value!r} is not a number of seconds: pass 0 or more", param, ctx)
        return seconds


class _Namespace(click.ParamType):  # type: ignore[type-arg]  # same
    """The name of a namespace."""

    name = "namespace"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name, or fail with the reason."""
        from steersman.validation.names import label_faults

        if label_faults(str(value)):
            rule = "use lower-case letters, digits and '-'"
            self.fail(f"{value!r} is not the name of a namespace: {rule}", param, ctx)
        return str(value)


def parse_object(text: str) -> tuple[str, str]:
    """Return kind and name of ``KIND/NAME``; raises ``BadParameter`` for anything else."""
    kind, slash, name = text.partition("/")
    if not slash or not kind or not name or "/" in name:
        raise click.BadParameter(f"{text!r} is not KIND/NAME, such as custompod/a", param_hint="KIND/NAME")
    return kind, name


NAMESPACE = _Namespace()
PORT = _Port()
COUNT = _Number(0)
POSITIVE = _Number(1)
SECONDS = _Seconds()
