"""The definition that comes from the classes, beside that of the original."""

from pathlib import Path
from typing import Any

import yaml
from steersman.schema import crd_of

from samplecontroller.api.foo_v1alpha1 import Foo

ORIGINAL = yaml.safe_load((Path(__file__).parent / "crd.yaml").read_text())


def _without_words(value: Any) -> Any:
    """Leave out what is only for people: descriptions."""
    if isinstance(value, dict):
        return {key: _without_words(item) for key, item in value.items() if key != "description"}
    return [_without_words(item) for item in value] if isinstance(value, list) else value


def test_the_classes_say_what_the_original_says() -> None:
    """Only the status has more: the generation that it speaks of, and conditions."""
    ours = _without_words(crd_of(Foo))
    status = ours["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
    assert status.pop("observedGeneration") == {"type": "integer", "format": "int64"}
    assert status.pop("conditions")["x-kubernetes-list-map-keys"] == ["type"]
    assert ours == ORIGINAL
