"""Tests of what a project shows its users: samples, the commands of the README, and CRDs that others wrote by hand."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from steersman.errors import AlreadyExists
from steersman.json_types import JsonObject
from steersman.objects.resource import Unstructured
from steersman.protocol.manifests import load_objects
from steersman.protocol.options import WriteOptions
from steersman.testing.cluster import Cluster
from steersman.testing.transcripts import console_blocks, replay

#: Reject unknown and duplicate fields, as kubectl does.
_STRICT: Final = WriteOptions(field_validation="Strict")
#: Caches and virtual environments, which a copy of a project does not need.
_NOT_COPIED: Final = shutil.ignore_patterns("__pycache__", ".*", "*.egg-info")


async def apply_samples(cluster: Cluster, folder: Path) -> list[Unstructured]:
    """Apply every object in the YAML files of a folder, and return the objects as stored.

    Objects are created, or patched where a file for another version has created them. Unknown fields are rejected, as
    kubectl does; the note of the error names the file. Install the CRDs first.
    """
    return [await _apply_sample(cluster, path, obj) for path, obj in _samples(folder)]


def _samples(folder: Path) -> list[tuple[Path, Unstructured]]:
    paths = sorted(folder.glob("*.yaml"))
    return [(path, obj) for path in paths for obj in load_objects(path.read_bytes(), source=path.name)]


async def _apply_sample(cluster: Cluster, path: Path, obj: Unstructured) -> Unstructured:
    try:
        try:
            return await cluster.client.create(obj, options=_STRICT)
        except AlreadyExists:
            return await cluster.client.patch(obj, obj.content, options=_STRICT)
    except Exception as error:
        error.add_note(f"in {path}: {obj.gvk.kind} {obj.name}")
        raise


async def replay_readme(
    project: Path,
    *,
    folder: Path,
    edit: Callable[[str], str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Replay the console blocks of a project's README as one transcript, in a copy of the project.

    The copy is ``folder/NAME`` with the name of the project's folder, so commands can write files. ``edit`` may change
    the transcript before it is replayed. Raises `WaitTimeout` with the first command whose output does not match.
    """
    copy = shutil.copytree(project, folder / project.name, ignore=_NOT_COPIED)
    transcript = "".join(console_blocks((project / "README.md").read_text(encoding="utf-8")))
    if not transcript:
        raise ValueError(f"{project / 'README.md'} has no console block to replay")
    await replay(edit(transcript) if edit else transcript, folder=copy, environment=environment)


def without_descriptions(crd: JsonObject) -> JsonObject:
    """Return a CRD without its descriptions, to compare what it means with another one's.

    A field of an object that is itself named ``description`` is kept.
    """
    return {
        name: _without_descriptions(value)
        for name, value in crd.items()
        if name != "description" or not isinstance(value, str)
    }


def _without_descriptions(value: object) -> object:
    if isinstance(value, dict):
        return without_descriptions(value)
    return [_without_descriptions(item) for item in value] if isinstance(value, list) else value
