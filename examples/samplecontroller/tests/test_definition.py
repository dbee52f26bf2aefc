"""The CRD that is derived from the classes, compared with the original."""

from pathlib import Path

import yaml
from steersman.schema import crd_of
from steersman.testing import without_descriptions

from samplecontroller.api.foo_v1alpha1 import Foo

ORIGINAL = yaml.safe_load((Path(__file__).parent / "crd.yaml").read_text())


def test_the_crd_is_that_of_the_original() -> None:
    """Only the status has more fields: observedGeneration and conditions."""
    ours = without_descriptions(crd_of(Foo))
    status = ours["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
    assert status.pop("observedGeneration") == {"type": "integer", "format": "int64"}
    assert status.pop("conditions")["x-kubernetes-list-map-keys"] == ["type"]
    assert ours == ORIGINAL
