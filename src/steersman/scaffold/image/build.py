"""Builds an image from a base image, packages and code.

The same inputs produce the same digest, anywhere and any time.
"""

import os
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from steersman.errors import ConfigError
from steersman.json_types import JsonObject
from steersman.scaffold.image.contents import CODE, PACKAGES
from steersman.scaffold.image.layer import MEDIA_TYPE, Layer, digest_of
from steersman.scaffold.image.layout import CONFIG, MANIFEST, Layout, json_bytes

#: What other tools call the layers of a base, and what OCI calls them.
_LAYER_TYPES: Final = {
    "application/vnd.docker.image.rootfs.diff.tar.gzip": MEDIA_TYPE,
    "application/vnd.docker.image.rootfs.diff.tar": "application/vnd.oci.image.layer.v1.tar",
}
_USER: Final = "65532:65532"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What the image is called and runs."""

    name: str
    version: str
    #: The operator, as ``steer run`` takes it.
    target: str
    platform: str
    #: Seconds since 1970 that all files and the image itself claim to be from.
    epoch: int = 0


def epoch_from(environ: "os._Environ[str]" = os.environ) -> int:
    """Return the time of ``SOURCE_DATE_EPOCH``, otherwise 1970."""
    text = environ.get("SOURCE_DATE_EPOCH", "0")
    if not text.isdecimal():
        raise ConfigError(f"SOURCE_DATE_EPOCH must be a number of seconds, not {text!r}")
    return int(text)


def build(base: Layout, layers: Sequence[Layer], recipe: Recipe, out: Layout) -> str:
    """Write the image as a separate layout; return the digest of its manifest."""
    parent = base.manifest(recipe.platform)
    config = _config(base.document(parent["config"]["digest"]), layers, recipe)
    for descriptor in parent["layers"]:
        out.put(base.blob(descriptor["digest"]))
    for layer in layers:
        out.put(layer.data)
    config_data = json_bytes(config)
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": {"mediaType": CONFIG, "digest": out.put(config_data), "size": len(config_data)},
        "layers": [*map(_as_oci, parent["layers"]), *(layer.descriptor for layer in layers)],
    }
    data = json_bytes(manifest)
    system, _, machine = recipe.platform.partition("/")
    descriptor = {
        "mediaType": MANIFEST,
        "digest": out.put(data),
        "size": len(data),
        "platform": {"os": system, "architecture": machine},
    }
    out.finish(descriptor, recipe.version)
    return digest_of(data)


def _as_oci(descriptor: JsonObject) -> JsonObject:
    kind = str(descriptor["mediaType"])
    return {"mediaType": _LAYER_TYPES.get(kind, kind), "digest": descriptor["digest"], "size": descriptor["size"]}


def _config(base: JsonObject, layers: Sequence[Layer], recipe: Recipe) -> JsonObject:
    config = deepcopy(base)
    created = datetime.fromtimestamp(recipe.epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    config["created"] = created
    config.setdefault("rootfs", {"type": "layers", "diff_ids": []})["diff_ids"] += [layer.diff_id for layer in layers]
    history = [{"created": created, "created_by": f"steer image build: {layer.title}"} for layer in layers]
    config["history"] = [*(config.get("history") or ()), *history]
    run = config.setdefault("config", {})
    run.pop("Cmd", None)  # arguments of another entry point
    run |= {
        "Entrypoint": ["python3", "-m", "steersman.cli", "run", recipe.target],
        "User": _USER,
        "WorkingDir": f"/{CODE}",
        "Env": _environment(run.get("Env") or ()),
        "Labels": {
            **(run.get("Labels") or {}),
            "org.opencontainers.image.title": recipe.name,
            "org.opencontainers.image.version": recipe.version,
        },
    }
    return config


def _environment(base: Sequence[str]) -> list[str]:
    added = {
        "PYTHONPATH": f"/{CODE}:/{PACKAGES}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
    }
    kept = [entry for entry in base if entry.partition("=")[0] not in added]
    return [*kept, *(f"{name}={value}" for name, value in added.items())]
