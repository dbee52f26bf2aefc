"""The CRD that is derived from the classes, compared with the article's, corrected."""

from pathlib import Path

import yaml
from steersman.schema import crd_of
from steersman.testing import without_descriptions

from custompod.api.custom_pod_v1 import CustomPod

ARTICLE = yaml.safe_load((Path(__file__).parent / "crd.yaml").read_text())


def test_the_crd_is_that_of_the_article() -> None:
    """Except for the columns of kubectl, and fields of the status that the article does not declare."""
    ours = without_descriptions(crd_of(CustomPod))
    [version] = ours["spec"]["versions"]
    columns = version.pop("additionalPrinterColumns")
    status = version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
    named = {name: status.pop(name) for name in ("conditions", "observedGeneration", "readyReplicas")}
    assert ours == ARTICLE
    assert [column["name"] for column in columns] == ["Replicas", "Ready", "Age"]
    assert named["readyReplicas"] == {"type": "integer"}
