"""The CRD that is derived from the classes, compared with the article's, corrected."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from steersman import GroupVersionKind, Invalid, Unstructured
from steersman.schema import crd_of
from steersman.testing import Cluster, without_descriptions

from project.api.project_v1alpha1 import Project

ARTICLE = yaml.safe_load((Path(__file__).parent / "crd.yaml").read_text())


def test_the_crd_is_that_of_the_article() -> None:
    """Except for the columns of kubectl."""
    ours = without_descriptions(crd_of(Project))
    columns = ours["spec"]["versions"][0].pop("additionalPrinterColumns")
    assert ours == ARTICLE
    assert [column["name"] for column in columns] == ["Replicas", "Ready", "Age"]


@pytest.mark.parametrize("spec", [{"replica": 2}, {"replicas": 0}, {"replicas": "two"}, {}])
async def test_a_project_without_valid_replicas_is_rejected(cluster: Cluster, spec: dict[str, Any]) -> None:
    """The article's object has `replica`, and its schema silently accepts that."""
    await cluster.install(Project)
    kind = GroupVersionKind("examples-gzh.com", "v1alpha1", "Project")
    with pytest.raises(Invalid, match=r"spec\.replicas"):
        await cluster.client.create(Unstructured.of(kind, "gzh-cr", spec=spec))
