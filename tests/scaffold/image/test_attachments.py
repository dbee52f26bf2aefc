"""Documents about an image: they name what it was built from, and nothing else that could differ."""

import json
from importlib.metadata import distribution
from pathlib import Path

from steersman.scaffold.image.attachments import PROVENANCE, SBOM, Inputs, bill_of_materials, provenance
from steersman.scaffold.image.build import Recipe, build
from steersman.scaffold.image.layer import File, layer_of
from steersman.scaffold.image.layout import Layout
from tests.support.base_image import base_image

RECIPE = Recipe(name="fleet", version="1.0", target="fleet.main:operator", platform="linux/amd64")
INPUTS = Inputs(
    recipe=RECIPE, base="sha256:ba5e", python="3.11.7", packages=[distribution("click")], code="sha256:c0de"
)


def test_the_bill_of_materials_names_base_python_and_packages() -> None:
    """Scanners look up known defects by the purl of a package."""
    document = bill_of_materials(INPUTS)
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    base, python, click = document["components"]
    assert (base["type"], base["version"]) == ("container", "sha256:ba5e")
    assert python["version"] == "3.11.7"
    assert click["purl"] == f"pkg:pypi/click@{distribution('click').version}"
    references = [one["bom-ref"] for one in document["components"]]
    assert len(set(references)) == len(references)


def test_the_provenance_names_the_image_and_all_its_inputs() -> None:
    """A policy can require a base, and compare the digest of the code with that of a second build."""
    statement = provenance(INPUTS, "sha256:1234")
    assert statement["subject"] == [{"name": "fleet", "digest": {"sha256": "1234"}}]
    assert statement["predicateType"] == "https://slsa.dev/provenance/v1"
    definition = statement["predicate"]["buildDefinition"]
    assert definition["externalParameters"]["operator"] == "fleet.main:operator"
    base, code, click = definition["resolvedDependencies"]
    assert base == {"name": "base", "digest": {"sha256": "ba5e"}}
    assert code == {"name": "code", "digest": {"sha256": "c0de"}}
    assert click["uri"].startswith("pkg:pypi/click@")


def made(root: Path, base: Layout) -> Layout:
    """Build an image with both documents."""
    root.mkdir()
    layout = Layout(root)
    digest = build(base, [layer_of("code", [File("app/code/main.py", b"")], epoch=0)], RECIPE, layout)
    layout.attach(SBOM, bill_of_materials(INPUTS))
    layout.attach(PROVENANCE, provenance(INPUTS, digest))
    return layout


def test_documents_are_attached_to_the_image_and_change_nothing_of_it(tmp_path: Path) -> None:
    """Each is a manifest with the image as its subject; the image is still the only one, and found by its platform."""
    layout = made(tmp_path / "image", base_image(tmp_path / "base"))
    image = layout.only()
    assert layout.manifest_digest("linux/amd64") == image["digest"]
    for kind, descriptor in zip((SBOM, PROVENANCE), layout.attachments(), strict=True):
        manifest = layout.document(descriptor["digest"])
        assert manifest["artifactType"] == descriptor["artifactType"] == kind
        assert manifest["subject"]["digest"] == image["digest"]
        assert manifest["subject"]["size"] == len(layout.blob(image["digest"]))
        [content] = manifest["layers"]
        assert content["mediaType"] == kind
        assert json.loads(layout.blob(content["digest"]))


def test_documents_of_equal_images_are_equal(tmp_path: Path) -> None:
    """They are part of the reproducible build: no times, no random serial numbers."""
    base = base_image(tmp_path / "base")
    first, second = (made(tmp_path / name, base) for name in ("a", "b"))
    assert first.index() == second.index()
