"""CRDs of programs, from their own folders and in old versions."""

from pathlib import Path

import pytest

from steersman.errors import ConfigError
from steersman.manager.install import install_definitions
from steersman.simulation.binaries.definitions import read_definitions
from steersman.testing.cluster import Cluster

OLD = """
apiVersion: apiextensions.k8s.io/v1beta1
kind: CustomResourceDefinition
metadata: {name: boats.example.com}
spec:
  group: example.com
  version: v1alpha1
  names: {kind: Boat, plural: boats}
  scope: Namespaced
  subresources: {status: {}}
  additionalPrinterColumns: [{name: Size, type: integer, JSONPath: .spec.size}]
  validation:
    openAPIV3Schema:
      type: object
      properties: {spec: {type: object, properties: {size: {type: integer}}}}
"""


async def test_a_definition_of_an_old_project_is_served(tmp_path: Path) -> None:
    """Old operators come with v1beta1, which no server has any more."""
    (tmp_path / "boats.yaml").write_text(OLD)
    (tmp_path / "kustomization.yaml").write_text("resources: [boats.yaml]\n")
    (definition,) = read_definitions([tmp_path])
    async with Cluster.start() as cluster:
        await install_definitions(cluster.client, [definition])
    (version,) = definition.content["spec"]["versions"]
    assert version["additionalPrinterColumns"][0]["jsonPath"] == ".spec.size"
    assert version["subresources"] == {"status": {}}
    assert version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] == {"size": {"type": "integer"}}


def test_a_folder_without_definitions_is_rejected(tmp_path: Path) -> None:
    """The wrong folder is named before anything starts."""
    (tmp_path / "role.yaml").write_text("kind: Role\n")
    with pytest.raises(ConfigError, match="there is no CustomResourceDefinition in it"):
        read_definitions([tmp_path])
