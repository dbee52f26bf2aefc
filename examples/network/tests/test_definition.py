"""The CRD that is derived from the classes, compared with the expected one."""

from pathlib import Path

import yaml
from steersman.schema import crd_of
from steersman.testing import without_descriptions

from network.api.network_v1 import Network

WANTED = Path(__file__).parent / "crd.yaml"


def test_the_crd_is_the_expected_one() -> None:
    """Existing manifests must keep working."""
    assert without_descriptions(crd_of(Network)) == yaml.safe_load(WANTED.read_text(encoding="utf-8"))
