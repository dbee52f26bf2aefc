"""The definition that the classes give, beside the one that it should be."""

from pathlib import Path

import yaml
from steersman.schema import crd_of
from steersman.testing import without_descriptions

from foobar.api.foo_bar_v1 import FooBar

WANTED = Path(__file__).parent / "crd.yaml"


def test_the_definition_is_the_one_that_users_know() -> None:
    """Whoever wrote manifests for the definition by hand can go on using them."""
    assert without_descriptions(crd_of(FooBar)) == yaml.safe_load(WANTED.read_text(encoding="utf-8"))
