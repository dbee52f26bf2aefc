"""Documents about an image, attached to it as OCI referrers: a bill of materials, and how it was built.

Like the image itself they depend only on its inputs: no times, no names of machines, no random numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution
from typing import Final

from steersman.json_types import JsonObject
from steersman.scaffold.image.build import Recipe
from steersman.scaffold.image.markers import normal_name
from steersman.version import __version__

SBOM: Final = "application/vnd.cyclonedx+json"
PROVENANCE: Final = "application/vnd.in-toto+json"
_BUILD_TYPE: Final = "https://steersman.dev/image-build/v1"
_BUILDER: Final = "https://steersman.dev/steer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What an image was built from."""

    recipe: Recipe
    #: Digest of the manifest of the base for the platform.
    base: str
    #: Version of the Python in the base.
    python: str
    packages: Sequence[Distribution]
    #: Digest of the project's code as an uncompressed layer.
    code: str


def bill_of_materials(inputs: Inputs) -> JsonObject:
    """Return what the image contains, as CycloneDX 1.6."""
    recipe = inputs.recipe
    base = {"type": "container", "bom-ref": "base", "name": "base", "version": inputs.base}
    python = {"type": "platform", "bom-ref": "python", "name": "python", "version": inputs.python}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {"type": "container", "bom-ref": "image", "name": recipe.name, "version": recipe.version},
            "tools": {"components": [{"type": "application", "name": "steer", "version": __version__}]},
        },
        "components": [base, python, *map(_component, inputs.packages)],
    }


def _component(package: Distribution) -> JsonObject:
    purl = _purl(package)
    component = {
        "type": "library",
        "bom-ref": purl,
        "name": str(package.metadata["Name"]),
        "version": package.version,
        "purl": purl,
    }
    # Older metadata has free text, which no tool can compare.
    [expression, *_] = package.metadata.get_all("License-Expression") or [""]
    return {**component, "licenses": [{"expression": expression}]} if expression else component


def _purl(package: Distribution) -> str:
    return f"pkg:pypi/{normal_name(str(package.metadata['Name']))}@{package.version}"


def provenance(inputs: Inputs, image: str) -> JsonObject:
    """Return how the image with a digest was built, as an in-toto statement with SLSA's provenance.

    It is what the builder says about itself: who trusts it must trust the machine that ran it, or verify a signature.
    """
    recipe = inputs.recipe
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": recipe.name, "digest": _digest(image)}],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": _BUILD_TYPE,
                "externalParameters": {
                    "operator": recipe.target,
                    "platform": recipe.platform,
                    "sourceDateEpoch": recipe.epoch,
                    "version": recipe.version,
                },
                "resolvedDependencies": [
                    {"name": "base", "digest": _digest(inputs.base)},
                    {"name": "code", "digest": _digest(inputs.code)},
                    *({"uri": _purl(package)} for package in inputs.packages),
                ],
            },
            "runDetails": {"builder": {"id": _BUILDER, "version": {"steer": __version__}}},
        },
    }


def _digest(text: str) -> JsonObject:
    algorithm, _, value = text.partition(":")
    return {algorithm: value}
