"""The operator of an image on disk: what Python imports, and nothing that could do harm."""

import io
import tarfile
from pathlib import Path

import pytest

from steersman.errors import ConfigError
from steersman.scaffold.image import unpack as module
from steersman.scaffold.image.build import Recipe, build
from steersman.scaffold.image.layer import File, Layer, layer_of
from steersman.scaffold.image.layout import CONFIG, MANIFEST, Layout, json_bytes
from steersman.scaffold.image.unpack import unpack
from tests.support.base_image import PYTHON, base_image

RECIPE = Recipe(name="fleet", version="1", target="fleet.main:operator", platform="linux/amd64")


def image_of(root: Path, run: dict[str, object], *layers: Layer) -> Layout:
    """Write an image with layers of its own, as a Dockerfile makes it."""
    root.mkdir()
    layout = Layout(root)
    config = json_bytes({"os": "linux", "architecture": "amd64", "config": run})
    for layer in layers:
        layout.put(layer.data)
    manifest = json_bytes(
        {
            "mediaType": MANIFEST,
            "config": {"mediaType": CONFIG, "digest": layout.put(config), "size": len(config)},
            "layers": [layer.descriptor for layer in layers],
        }
    )
    layout.finish({"mediaType": MANIFEST, "digest": layout.put(manifest), "size": len(manifest)}, "1")
    return layout


def layer(*paths: str) -> Layer:
    """Return a layer with files that contain their own paths."""
    return layer_of("layer", [File(path, path.encode()) for path in paths], epoch=0)


def names(root: Path) -> list[str]:
    """Return every file below a folder."""
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def test_an_image_of_steer_is_unpacked(tmp_path: Path) -> None:
    """Packages and code, without the base: that is the system's, and not imported from."""
    out = Layout(tmp_path / "image")
    out.root.mkdir()
    build(
        base_image(tmp_path / "base"),
        [layer("app/packages/click/__init__.py"), layer("app/code/fleet/main.py")],
        RECIPE,
        out,
    )
    found = unpack(out, "linux/amd64", tmp_path / "place")
    assert (found.target, found.python) == ("fleet.main:operator", PYTHON)
    assert names(tmp_path / "place") == ["app/code/fleet/main.py", "app/packages/click/__init__.py"]
    assert found.path == (tmp_path / "place/app/code", tmp_path / "place/app/packages")
    assert found.folder == tmp_path / "place/app/code"


def test_an_image_of_a_dockerfile_is_unpacked(tmp_path: Path) -> None:
    """Its virtual environment comes before the packages of the system, and deleted files are deleted."""
    site, system = "app/lib/python3.13/site-packages", "usr/local/lib/python3.13/site-packages"
    image = image_of(
        tmp_path / "image",
        {"Entrypoint": ["/app/bin/steer", "run", "fleet.main:operator"], "Env": ["PYTHON_VERSION=3.13.2"]},
        layer(f"{site}/old.py", f"{site}/kept.py", f"{site}/gone/a.py", f"{system}/pip.py", "etc/passwd"),
        layer(f"{site}/.wh.old.py", f"{site}/.wh.gone", f"{site}/new.py"),
    )
    found = unpack(image, "linux/amd64", tmp_path / "place")
    assert (found.target, found.python) == ("fleet.main:operator", "3.13")
    assert found.path == (tmp_path / "place" / site, tmp_path / "place" / system)
    assert names(tmp_path / "place") == sorted([f"{site}/kept.py", f"{site}/new.py", f"{system}/pip.py"])


def test_an_image_that_does_not_run_steer_is_rejected(tmp_path: Path) -> None:
    """The operator could be anything."""
    image = image_of(tmp_path / "image", {"Entrypoint": ["/manager"]}, layer("manager"))
    with pytest.raises(ConfigError, match="the image runs '/manager': only an image that runs 'steer run"):
        unpack(image, "linux/amd64", tmp_path / "place")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.REGTYPE])
def test_a_layer_cannot_write_outside(tmp_path: Path, kind: bytes) -> None:
    """Neither by its path nor by a link: links are not written at all."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        entry = tarfile.TarInfo("app/link" if kind == tarfile.SYMTYPE else "app/../../outside")
        entry.type, entry.linkname = kind, str(tmp_path)
        archive.addfile(entry)
        below = tarfile.TarInfo("app/link/outside")
        archive.addfile(below)
    run = {"Entrypoint": ["steer", "run", "a:b"], "WorkingDir": "/app"}
    image = image_of(tmp_path / "image", run, Layer(buffer.getvalue(), "", ""))
    place = tmp_path / "place"
    if kind == tarfile.SYMTYPE:
        unpack(image, "linux/amd64", place)
        assert names(place) == ["app/link/outside"]
    else:
        with pytest.raises(ConfigError, match="a path that leaves it"):
            unpack(image, "linux/amd64", place)
    assert not (tmp_path / "outside").exists()


def test_an_image_that_is_too_large_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A layer of a few bytes can have any size when it is unpacked."""
    monkeypatch.setattr(module, "MOST_BYTES", 10)
    run = {"Entrypoint": ["steer", "run", "a:b"], "WorkingDir": "/app"}
    image = image_of(tmp_path / "image", run, layer("app/a-long-name", "app/another"))
    with pytest.raises(ConfigError, match="more than 10 bytes"):
        unpack(image, "linux/amd64", tmp_path / "place")
