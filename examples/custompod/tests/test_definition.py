"""The definition that comes from the classes, beside the one that the article meant."""

from pathlib import Path
from typing import Any

import yaml
from steersman.schema import crd_of

from custompod.api.custom_pod_v1 import CustomPod

ARTICLE = yaml.safe_load((Path(__file__).parent / "crd.yaml").read_text())


def _without_words(value: Any) -> Any:
    """Leave out what is only for people: descriptions."""
    if isinstance(value, dict):
        return {key: _without_words(item) for key, item in value.items() if key != "description"}
    return [_without_words(item) for item in value] if isinstance(value, list) else value


def test_the_classes_say_what_the_article_says() -> None:
    """Beside the columns for kubectl, only the status says more: it names what the article's lets through unnamed."""
    ours = _without_words(crd_of(CustomPod))
    [version] = ours["spec"]["versions"]
    columns = version.pop("additionalPrinterColumns")
    status = version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
    named = {name: status.pop(name) for name in ("conditions", "observedGeneration", "readyReplicas")}
    assert ours == ARTICLE
    assert [column["name"] for column in columns] == ["Replicas", "Ready", "Age"]
    assert named["readyReplicas"] == {"type": "integer"}
