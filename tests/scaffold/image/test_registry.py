"""Pulling an image: by tag, digest and platform; nothing that does not match its digest is kept."""

from pathlib import Path

import pytest

from steersman.clock import RealClock
from steersman.errors import ConfigError, RegistryError
from steersman.scaffold.image.layout import INDEX, MANIFEST, Layout, json_bytes
from steersman.scaffold.image.reference import Reference
from steersman.scaffold.image.registry import Registry
from steersman.transport.config import Anonymous
from tests.support.base_image import base_image
from tests.support.layout_registry import layout_registry


async def pull(host: str, name: str, into: Path) -> Layout:
    """Pull an image from a registry on this machine."""
    layout = Layout(into)
    registry = Registry(Reference.parse(f"{host}/{name}"), Anonymous(), clock=RealClock())
    await registry.pull(layout, "linux/amd64")
    return layout


async def test_an_image_is_pulled_by_tag_digest_and_platform(tmp_path: Path) -> None:
    """All three names lead to the same image, and redirects of the registry are followed."""
    image = base_image(tmp_path / "image")
    digest = image.only()["digest"]
    manifest = image.blob(digest)
    named = {"mediaType": MANIFEST, "digest": digest, "platform": {"os": "linux", "architecture": "amd64"}}
    other = {**named, "digest": f"sha256:{'0' * 64}", "platform": {"os": "linux", "architecture": "arm64"}}
    index = json_bytes({"mediaType": INDEX, "manifests": [other, named]})
    answers = {"1": (MANIFEST, manifest), digest: (MANIFEST, manifest), "many": (INDEX, index)}
    with layout_registry(image, answers) as host:
        for number, name in enumerate(("fleet:1", f"fleet@{digest}", f"fleet:1@{digest}", "fleet:many")):
            found = await pull(host, name, tmp_path / str(number))
            assert found.manifest("linux/amd64") == image.manifest("linux/amd64")
            [layer] = found.manifest("linux/amd64")["layers"]
            assert found.blob(layer["digest"]) == image.blob(layer["digest"])


async def test_what_does_not_match_its_digest_is_rejected(tmp_path: Path) -> None:
    """A registry, or a server between, could send another operator."""
    image = base_image(tmp_path / "image")
    digest = image.only()["digest"]
    manifest = image.blob(digest)
    [layer] = image.manifest("linux/amd64")["layers"]
    wrong = f"sha256:{'0' * 64}"
    answers = {"1": (MANIFEST, manifest), wrong: (MANIFEST, manifest)}
    with layout_registry(image, answers, {layer["digest"]: b"other"}) as host:
        for number, name in enumerate(("fleet:1", f"fleet@{wrong}")):
            with pytest.raises(RegistryError, match="something else than sha256:"):
                await pull(host, name, tmp_path / str(number))


async def test_what_is_missing_is_named(tmp_path: Path) -> None:
    """A tag, or the platform of this machine."""
    image = base_image(tmp_path / "image")
    answers = {"arm": (INDEX, json_bytes({"mediaType": INDEX, "manifests": []})), "text": (MANIFEST, b"text")}
    with layout_registry(image, answers) as host:
        for number, (tag, said) in enumerate(
            (("9", "404 manifest unknown"), ("arm", "has no image for linux/amd64"), ("text", "is not an image"))
        ):
            with pytest.raises(RegistryError, match=said):
                await pull(host, f"fleet:{tag}", tmp_path / str(number))
    with pytest.raises(ConfigError, match="not an image name"):
        Reference.parse("localhost/fleet@sha256:short")
