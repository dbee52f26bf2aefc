"""`steer image build` and `push`, with a real registry if one is installed, and one that requires a token."""

import hashlib
import json
import re
import tarfile
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from steersman.cli import main
from tests.support.base_image import base_image


def steer(*arguments: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(main, arguments)


def ask(url: str, **headers: str) -> Any:
    """Send a request to a registry with another client."""
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:  # noqa: S310 - this machine
        return json.load(answer)


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate the machine that the base image is for."""
    monkeypatch.setattr("platform.machine", lambda: "x86_64")


@pytest.fixture
def image(project: Path, tmp_path: Path, platform: None) -> Path:
    """Build the image of a project with one small dependency."""
    del platform
    settings = project / "pyproject.toml"
    settings.write_text(re.sub(r'"steersman>=[^"]*"', '"click>=8"', settings.read_text()))
    base = base_image(tmp_path / "base")
    answer = steer("image", "build", "--base", str(base.root))
    assert answer.exit_code == 0, answer.output
    return project / "build/image"


def test_an_image_is_pushed_and_found(image: Path, registry: str) -> None:
    """The registry's catalogue contains it, and the downloaded image is the one that was built."""
    answer = steer("image", "push", f"{registry}/team/fleet:1.0")
    assert answer.exit_code == 0, answer.output
    assert f"steer deploy --image {registry}/team/fleet@sha256:" in answer.stdout
    assert ask(f"http://{registry}/v2/_catalog") == {"repositories": ["team/fleet"]}
    accept = {"Accept": "application/vnd.oci.image.manifest.v1+json"}
    manifest = ask(f"http://{registry}/v2/team/fleet/manifests/1.0", **accept)
    built, *attached = json.loads((image / "index.json").read_bytes())["manifests"]
    assert manifest == json.loads((image / "blobs/sha256" / built["digest"][7:]).read_bytes())
    for layer in manifest["layers"]:
        with urllib.request.urlopen(f"http://{registry}/v2/team/fleet/blobs/{layer['digest']}") as blob:
            assert f"sha256:{hashlib.sha256(blob.read()).hexdigest()}" == layer["digest"]
    again = steer("image", "push", f"{registry}/team/fleet:1.1")
    assert again.stdout.count("pushed,") == 0
    # This registry does not know referrers: they are listed under a tag that is made of the image's digest.
    listed = built["digest"].replace(":", "-")
    assert sorted(ask(f"http://{registry}/v2/team/fleet/tags/list")["tags"]) == ["1.0", "1.1", listed]
    accept = {"Accept": "application/vnd.oci.image.index.v1+json"}
    assert ask(f"http://{registry}/v2/team/fleet/manifests/{listed}", **accept)["manifests"] == attached


def test_an_image_contains_compiled_modules(image: Path) -> None:
    """Otherwise each start of a pod compiles everything again: its file system is read-only."""
    built, *_ = json.loads((image / "index.json").read_bytes())["manifests"]
    manifest = json.loads((image / "blobs/sha256" / built["digest"][7:]).read_bytes())
    names: list[str] = []
    for layer in manifest["layers"]:
        with tarfile.open(image / "blobs/sha256" / layer["digest"][7:]) as archive:
            names += archive.getnames()
    modules = [name for name in names if name.endswith(".py")]
    assert len(modules) > 10
    assert len([name for name in names if name.endswith(".pyc")]) == len(modules)


def test_libraries_that_the_base_lacks_are_reported_during_the_build(
    project: Path, tmp_path: Path, platform: None
) -> None:
    """Otherwise the pod would fail in the cluster, at its first import."""
    del project, platform
    answer = steer("image", "build", "--base", str(base_image(tmp_path / "base").root))
    assert answer.exit_code == 1
    assert "the image would not start" in answer.stderr
    assert "needs libc.so.6" in answer.stderr
    assert "is it Alpine?" in answer.stderr


def test_the_base_may_differ_in_the_patch_release_of_python_only(project: Path, tmp_path: Path, platform: None) -> None:
    """Extension modules and bytecode are for one minor version."""
    del platform
    settings = project / "pyproject.toml"
    settings.write_text(re.sub(r'"steersman>=[^"]*"', '"click>=8"', settings.read_text()))
    assert steer("image", "build", "--base", str(base_image(tmp_path / "same").root)).exit_code == 0
    answer = steer("image", "build", "--base", str(base_image(tmp_path / "other", python="3.9").root))
    assert answer.exit_code == 1
    assert "the base has Python 3.9.1, but packages are installed here for" in answer.stderr
    settings.write_text(settings.read_text().replace('"click>=8"', """'absent; python_full_version == "3.*"'"""))
    answer = steer("image", "build", "--base", str(base_image(tmp_path / "needs").root))
    assert answer.exit_code == 2
    assert "absent, which the project needs in an image with Python" in answer.stderr


def test_building_again_gives_the_same_digest(image: Path, tmp_path: Path) -> None:
    """A code change changes only its own layer."""
    first = json.loads((image / "index.json").read_bytes())["manifests"][0]["digest"]
    before = json.loads((image / "blobs/sha256" / first[7:]).read_bytes())
    again = steer("image", "build", "--base", str(tmp_path / "base"))
    assert again.stdout.strip().endswith(first)
    (image.parent.parent / "fleet/more.py").write_text("MORE = 1\n")
    changed = steer("image", "build", "--base", str(tmp_path / "base")).stdout.split()[-1]
    after = json.loads((image / "blobs/sha256" / changed[7:]).read_bytes())
    same = [one == two for one, two in zip(before["layers"], after["layers"], strict=True)]
    assert same == [True, True, False]


def test_a_base_with_another_python_is_rejected(project: Path, tmp_path: Path, platform: None) -> None:
    """Compiled packages of this Python would not load there."""
    del project, platform
    base = base_image(tmp_path / "base", python="3.9")
    answer = steer("image", "build", "--base", str(base.root))
    assert answer.exit_code == 1
    assert "has Python 3.9" in answer.stderr


def test_a_folder_with_other_files_is_not_emptied(project: Path, tmp_path: Path, platform: None) -> None:
    """Only an earlier image is replaced."""
    del platform
    base = base_image(tmp_path / "base")
    (project / "mine").mkdir()
    (project / "mine/file").write_text("mine")
    answer = steer("image", "build", "--base", str(base.root), "--out", "mine")
    assert answer.exit_code == 1
    assert "nothing was written" in answer.stderr
    assert (project / "mine/file").read_text() == "mine"


def test_a_missing_part_is_reported_in_one_sentence(project: Path) -> None:
    """Each message contains the next step."""
    del project
    for arguments, message in (
        (("build",), "pass --base"),
        (("build", "--with", "docker"), "--tag"),
        (("push", "fleet:1"), "names no registry"),
        (("push", "127.0.0.1:1/fleet:1"), "there is no image in build/image: run 'steer image build' first"),
    ):
        answer = steer("image", *arguments)
        assert answer.exit_code == 2
        assert message in answer.stderr
        assert answer.stderr.count("\n") == 1


class _TokenRegistry(BaseHTTPRequestHandler):
    """A registry that issues tokens to clients with a login and accepts everything from clients with a token."""

    seen: list[tuple[str, str]]

    def _answer(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        self.rfile.read(length)
        who = self.headers.get("authorization", "")
        self.seen.append((f"{self.command} {self.path}", who))
        if self.path.startswith("/token"):
            self._write(200, b'{"token": "canary"}' if who == "Basic dXNlcjpjYW5hcnk=" else b"{}")
        elif who != "Bearer canary":
            realm = f"http://127.0.0.1:{self.server.server_address[1]}/token"
            self._write(401, b"{}", **{"www-authenticate": f'Bearer realm="{realm}",service="here"'})
        elif self.command == "HEAD":
            self._write(404, b"")
        elif self.command == "POST":
            self._write(202, b"", location="/upload?state=x")
        else:
            self._write(201, b"", **{"oci-subject": "sha256:of-the-image"})

    def _write(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_POST = do_PUT = _answer  # noqa: N815 - the names that the base class calls

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def token_registry() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Run the registry that requires a token; return its address and the requests it received."""
    seen: list[tuple[str, str]] = []
    handler = type("Handler", (_TokenRegistry,), {"seen": seen})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_address[1]}", seen
        server.shutdown()
        thread.join()


def test_a_token_is_sent_to_a_registry_that_requires_one(
    image: Path,
    token_registry: tuple[str, list[tuple[str, str]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The login is sent only to the token service, and nothing of it is printed."""
    del image
    host, seen = token_registry
    home = tmp_path / "home"
    (home / ".docker").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    refused = steer("image", "push", f"{host}/fleet:1")
    assert refused.exit_code == 1
    assert "gave no token" in refused.stderr
    (home / ".docker/config.json").write_text(json.dumps({"auths": {host: {"auth": "dXNlcjpjYW5hcnk="}}}))
    seen.clear()
    answer = steer("image", "push", f"{host}/fleet:1")
    assert answer.exit_code == 0, answer.output
    assert "canary" not in answer.output
    assert [call for call, who in seen if who.startswith("Basic")] == [
        "GET /token?service=here&scope=repository%3Afleet%3Apull%2Cpush"
    ]
    manifests = [call for call, who in seen if call.startswith("PUT /v2/fleet/manifests/") and who == "Bearer canary"]
    # The image, then what is attached to it; a registry that knows referrers needs no list of them.
    assert manifests[0] == "PUT /v2/fleet/manifests/1"
    assert [call[:31] for call in manifests[1:]] == ["PUT /v2/fleet/manifests/sha256:"] * 2
    uploads = [call for call, _ in seen if call.startswith("PUT /upload")]
    assert len(uploads) == 8
    assert all(call.startswith("PUT /upload?state=x&digest=sha256%3A") for call in uploads)
