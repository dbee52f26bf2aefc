"""A tiny base image as an OCI layout: one layer, and a config with the version of its Python."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from steersman.scaffold.image.layer import File, layer_of
from steersman.scaffold.image.layout import CONFIG, MANIFEST, Layout, json_bytes

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


def base_image(
    root: Path,
    *,
    python: str = PYTHON,
    architecture: str = "amd64",
    docker: bool = False,
    files: Sequence[File] = (),
) -> Layout:
    """Write the image; with an empty version the image does not declare one."""
    root.mkdir(parents=True)
    layout = Layout(root)
    layer = layer_of("base", [File("etc/base", b"base\n"), *files], epoch=0)
    layout.put(layer.data)
    environment = ["PATH=/usr/local/bin:/usr/bin", *([f"PYTHON_VERSION={python}.1"] if python else [])]
    config: dict[str, Any] = {
        "os": "linux",
        "architecture": architecture,
        "config": {"Env": environment, "Cmd": ["python3"]},
        "rootfs": {"type": "layers", "diff_ids": [layer.diff_id]},
        "history": [{"created_by": "base"}],
    }
    data = json_bytes(config)
    descriptor = dict(layer.descriptor)
    if docker:
        descriptor["mediaType"] = "application/vnd.docker.image.rootfs.diff.tar.gzip"
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": {"mediaType": CONFIG, "digest": layout.put(data), "size": len(data)},
        "layers": [descriptor],
    }
    written = json_bytes(manifest)
    layout.finish({"mediaType": MANIFEST, "digest": layout.put(written), "size": len(written)}, "base")
    return layout
