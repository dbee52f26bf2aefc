"""Templates become texts: in a sandbox, with every name defined, and always to the same bytes."""

from functools import cache
from pathlib import Path

from jinja2 import FileSystemLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

_TEMPLATES = Path(__file__).with_name("templates")


@cache
def _environment() -> ImmutableSandboxedEnvironment:
    return ImmutableSandboxedEnvironment(
        loader=FileSystemLoader(_TEMPLATES),
        undefined=StrictUndefined,
        autoescape=False,  # the texts are Python, TOML and YAML, made of names that were checked
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(template: str, **values: object) -> str:
    """Render one of our templates."""
    return _environment().get_template(f"{template}.jinja").render(values)
