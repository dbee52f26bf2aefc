"""The definition that the classes give, beside the one that it should be."""

from pathlib import Path
from typing import Any

import yaml
from steersman.schema import crd_of

from foobar.api.foo_bar_v1 import FooBar

WANTED = Path(__file__).parent / "crd.yaml"


def without_descriptions(value: Any) -> Any:
    """Leave out what the classes say to people: the docstrings."""
    if isinstance(value, dict):
        kept = {key: item for key, item in value.items() if key != "description" or not isinstance(item, str)}
        return {key: without_descriptions(item) for key, item in kept.items()}
    return [without_descriptions(item) for item in value] if isinstance(value, list) else value


def test_the_definition_is_the_one_that_users_know() -> None:
    """Whoever wrote manifests for the definition by hand can go on using them."""
    assert without_descriptions(crd_of(FooBar)) == yaml.safe_load(WANTED.read_text(encoding="utf-8"))
