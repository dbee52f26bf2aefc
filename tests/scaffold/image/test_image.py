"""Images without a daemon: equal inputs have equal digests, and a damaged base is rejected."""

import gzip
import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from steersman.errors import ConfigError
from steersman.scaffold.image.base import read_base
from steersman.scaffold.image.build import Recipe, build, epoch_from
from steersman.scaffold.image.contents import needed_distributions, package_files, tree_files
from steersman.scaffold.image.layer import File, layer_of
from steersman.scaffold.image.layout import Layout, opened
from steersman.scaffold.image.reference import Reference, kept_login
from steersman.transport.config import Anonymous, Login
from tests.support.base_image import PYTHON, base_image

RECIPE = Recipe(name="fleet", version="1.0", target="fleet.main:operator", platform="linux/amd64")
CODE = [File("app/code/fleet/main.py", b"print()\n"), File("app/code/run", b"#!/bin/sh\n", 0o755)]


def made(root: Path, base: Layout, files: list[File]) -> tuple[str, Layout]:
    """Build an image."""
    root.mkdir()
    out = Layout(root)
    return build(base, [layer_of("code", files, epoch=0)], RECIPE, out), out


def test_equal_inputs_build_equal_images(tmp_path: Path) -> None:
    """In any order, in any folder, and at any time."""
    base = base_image(tmp_path / "base")
    first, one = made(tmp_path / "a", base, CODE)
    second, two = made(tmp_path / "b", base, CODE[::-1])
    assert first == second
    assert {path.name for path in one.root.rglob("*")} == {path.name for path in two.root.rglob("*")}
    third, _ = made(tmp_path / "c", base, CODE[:1])
    assert third != first


def test_a_layer_contains_nothing_about_the_build_machine() -> None:
    """Owners, times and modes are fixed; directories come before their files."""
    layer = layer_of("code", CODE, epoch=7)
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(layer.data))) as archive:
        entries = archive.getmembers()
    assert [entry.name for entry in entries] == [
        "app",
        "app/code",
        "app/code/fleet",
        "app/code/fleet/main.py",
        "app/code/run",
    ]
    assert {(entry.uid, entry.gid, entry.uname, entry.mtime) for entry in entries} == {(0, 0, "", 7)}
    assert [oct(entry.mode) for entry in entries[3:]] == ["0o644", "0o755"]


def test_the_image_runs_the_operator_without_root(tmp_path: Path) -> None:
    """The configuration of the base stays, except for the fields that the operator sets."""
    digest, out = made(tmp_path / "a", base_image(tmp_path / "base", docker=True), CODE)
    manifest = out.document(digest)
    config = out.document(manifest["config"]["digest"])
    assert config["config"]["Entrypoint"][-2:] == ["run", "fleet.main:operator"]
    assert config["config"]["User"] == "65532:65532"
    assert "Cmd" not in config["config"]
    assert config["config"]["Env"][0] == "PATH=/usr/local/bin:/usr/bin"
    assert "PYTHONPATH=/app/code:/app/packages" in config["config"]["Env"]
    assert len(config["rootfs"]["diff_ids"]) == len(manifest["layers"]) == len(config["history"]) == 2
    assert {layer["mediaType"] for layer in manifest["layers"]} == {"application/vnd.oci.image.layer.v1.tar+gzip"}
    for layer, diff_id in zip(manifest["layers"], config["rootfs"]["diff_ids"], strict=True):
        plain = gzip.decompress(out.blob(layer["digest"]))
        hashed = subprocess.run(["sha256sum"], input=plain, capture_output=True, check=True)  # noqa: S607 - another witness
        assert diff_id == f"sha256:{hashed.stdout.split()[0].decode()}"


def test_a_base_may_be_an_archive(tmp_path: Path) -> None:
    """Tools often export one file."""
    base = base_image(tmp_path / "base")
    with tarfile.open(tmp_path / "base.tar", "w") as archive:
        archive.add(base.root, arcname=".")
    with opened(tmp_path / "base.tar") as layout:
        digest, _ = made(tmp_path / "a", layout, CODE)
    assert digest == made(tmp_path / "b", base, CODE)[0]


def test_an_archive_cannot_write_outside_its_folder(tmp_path: Path) -> None:
    """An archive is untrusted data."""
    with tarfile.open(tmp_path / "bad.tar", "w") as archive:
        entry = tarfile.TarInfo("../escaped")
        archive.addfile(entry, io.BytesIO())
    with pytest.raises(ConfigError, match="cannot be read"), opened(tmp_path / "bad.tar"):
        pass
    assert not (tmp_path.parent / "escaped").exists()


def test_a_damaged_base_is_rejected(tmp_path: Path) -> None:
    """A digest is a promise about content."""
    base = base_image(tmp_path / "base")
    [layer] = base.manifest("linux/amd64")["layers"]
    (base.root / "blobs/sha256" / layer["digest"][7:]).write_bytes(b"other")
    with pytest.raises(ConfigError, match="damaged"):
        made(tmp_path / "a", base, CODE)


def test_an_index_cannot_name_files_outside(tmp_path: Path) -> None:
    """A digest becomes a path, so it is validated."""
    base = base_image(tmp_path / "base")
    index = base.index()
    index["manifests"][0]["digest"] = "sha256:../../../etc/passwd"
    (base.root / "index.json").write_text(json.dumps(index))
    with pytest.raises(ConfigError, match="not a sha256 digest"):
        base.manifest("linux/amd64")


def test_the_platform_of_the_base_must_fit(tmp_path: Path) -> None:
    """An image for another machine would fail only in the cluster."""
    base = base_image(tmp_path / "base", architecture="arm64")
    with pytest.raises(ConfigError, match="no image for linux/amd64"):
        base.manifest("linux/amd64")
    assert read_base(base, "linux/arm64").python == f"{PYTHON}.1"


@pytest.mark.parametrize("name", ["folder", "file.tar"])
def test_a_folder_that_is_not_an_image_layout_is_rejected(tmp_path: Path, name: str) -> None:
    """The error says what was expected."""
    place = tmp_path / name
    if name == "folder":
        place.mkdir()
    else:
        place.write_bytes(b"no archive")
    with pytest.raises(ConfigError), opened(place):
        pass


def test_the_packages_of_this_environment_run_elsewhere(tmp_path: Path) -> None:
    """Unpacked into an empty folder, without any other package, the command works."""
    for file in package_files(needed_distributions(["steersman"])):
        place = tmp_path / file.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.data)
    environment = {"PYTHONPATH": str(tmp_path / "app/packages"), "PATH": os.environ["PATH"]}
    answer = subprocess.run(
        [sys.executable, "-S", "-m", "steersman.cli", "--version"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.startswith("steer ")


def test_a_package_that_is_not_installed_is_named() -> None:
    """A package missing here would be missing in the image."""
    with pytest.raises(ConfigError, match="no-such-package, which the project needs, is not installed here"):
        needed_distributions(["No_Such.package>=1"])


def test_caches_and_links_are_left_out(tmp_path: Path) -> None:
    """They differ from machine to machine, or lead out of the project."""
    (tmp_path / "code/__pycache__").mkdir(parents=True)
    (tmp_path / "code/__pycache__/a.pyc").write_bytes(b"")
    (tmp_path / "code/a.py").write_text("")
    (tmp_path / "code/link").symlink_to("/etc/passwd")
    assert [file.path for file in tree_files(tmp_path / "code", "app")] == ["app/a.py"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("localhost:5000/a:1", ("localhost:5000", "a", "1")),
        ("registry.example.com/team/a", ("registry.example.com", "team/a", "latest")),
        ("[::1]:5000/a:x_1", ("[::1]:5000", "a", "x_1")),
    ],
)
def test_references_contain_registry_repository_and_tag(text: str, parts: tuple[str, str, str]) -> None:
    """As every tool writes them."""
    found = Reference.parse(text)
    assert (found.host, found.repository, found.tag) == parts


@pytest.mark.parametrize("text", ["a:1", "a/b:1", "example.com/A:1", "example.com/a:b:c", "example.com/../a", "h .x/a"])
def test_a_reference_without_a_registry_or_with_an_invalid_name_is_rejected(text: str) -> None:
    """Guessing a registry would send a user's code to strangers."""
    with pytest.raises(ConfigError):
        Reference.parse(text)


def test_tls_is_omitted_only_on_localhost_or_on_request() -> None:
    """Images are code."""
    assert Reference.parse("localhost:5000/a").server(plain=False) == "http://localhost:5000"
    assert Reference.parse("example.com/a").server(plain=False) == "https://example.com"
    assert Reference.parse("example.com/a").server(plain=True) == "http://example.com"
    assert Reference.parse("localhost.example.com/a").server(plain=False) == "https://localhost.example.com"


def test_logins_are_read_from_the_docker_configuration(tmp_path: Path) -> None:
    """And never shown."""
    path = tmp_path / "config.json"
    assert kept_login("example.com", path) == Anonymous()
    path.write_text('{"auths": {"example.com": {"auth": "dXNlcjpjYW5hcnk="}}}')
    found = kept_login("example.com", path)
    assert isinstance(found, Login)
    assert (found.username, found.password.reveal()) == ("user", "canary")
    assert "canary" not in repr(found)
    assert kept_login("other.example.com", path) == Anonymous()
    path.write_text("{")
    with pytest.raises(ConfigError):
        kept_login("example.com", path)


def test_the_time_of_the_image_is_fixed_or_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The current time would make every build different."""
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    assert epoch_from() == 0
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert epoch_from() == 1_700_000_000
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "today")
    with pytest.raises(ConfigError, match="today"):
        epoch_from()
