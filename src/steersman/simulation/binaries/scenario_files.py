"""Scenarios without Python: a folder of manifests, one file for each step, in the order of their names.

======================  ==============================================================================
``01-create.yaml``      objects are applied, as by ``kubectl apply --server-side``
``02-patch-size.yaml``  ``patch`` in the name: each document is a merge patch of the object that it names
``03-delete.yaml``      ``delete`` in the name: the objects that it names are deleted
======================  ==============================================================================

After each step the scenario waits until everything is at rest.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from steersman.client.client import Client
from steersman.client.interfaces import Ref
from steersman.errors import ConfigError, DecodeError
from steersman.objects.resource import Unstructured
from steersman.protocol.manifests import load_objects
from steersman.testing.cluster import Cluster
from steersman.testing.crashes.scenarios import Scenario

Verb: TypeAlias = Literal["apply", "patch", "delete"]

_MANAGER = "kubectl"


@dataclass(frozen=True, slots=True)
class FileStep:
    """One step of a scenario: what users do before they wait."""

    name: str
    verb: Verb
    objects: Sequence[Unstructured]


def read_steps(folder: Path) -> list[FileStep]:
    """Read the steps of a folder; reject one without any."""
    files = sorted([*folder.glob("*.yaml"), *folder.glob("*.yml"), *folder.glob("*.json")], key=lambda file: file.name)
    if not files:
        raise ConfigError(f"there are no steps in {folder}: write manifests such as 01-create.yaml and 02-delete.yaml")
    return [_step(file) for file in files]


def _step(file: Path) -> FileStep:
    words = set(re.split(r"[^a-z]+", file.stem.lower()))
    verb: Verb = "delete" if "delete" in words else "patch" if "patch" in words else "apply"
    try:
        objects = load_objects(file.read_bytes(), source=str(file))
    except (DecodeError, ValueError) as error:
        raise ConfigError(str(error)) from None
    if not objects:
        raise ConfigError(f"there is no object in {file}")
    return FileStep(file.name, verb, objects)


def scenario_of(folder: Path) -> Scenario:
    """Return the scenario of a folder."""
    steps = read_steps(folder)

    async def scenario(cluster: Cluster) -> None:
        client = cluster.client.as_manager(_MANAGER)
        for step in steps:
            for obj in step.objects:
                await _take(client, step.verb, obj)
            await cluster.settle()

    scenario.__name__ = folder.name
    return scenario


async def _take(client: Client, verb: Verb, obj: Unstructured) -> None:
    match verb:
        case "apply":
            await client.apply(Unstructured(dict(obj.content)), force=True)
        case "patch":
            change = {key: value for key, value in obj.content.items() if key not in {"apiVersion", "kind"}}
            await client.patch(_ref(obj), change)
        case "delete":
            await client.delete(_ref(obj), missing_ok=True)


def _ref(obj: Unstructured) -> Ref[Unstructured]:
    return Ref(obj.gvk, obj.name, obj.namespace or None)
