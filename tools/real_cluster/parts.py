"""What a real cluster is made of, built once into the cache: Go programs, Debian packages, images."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Self

from steersman.scaffold.image.layer import File
from tools.control_plane.binaries import CONTROL_PLANE, NODE, Binaries, MissingError
from tools.real_cluster.images import Image, package_files, python_image, system_files, write_image

HERE: Final = Path(__file__).parent
#: Unpacked into the cache, never installed: no service starts and nothing of the host changes.
PACKAGES: Final = (
    "busybox-static",
    "containerd",
    "containernetworking-plugins",
    "docker-registry",
    "libedit2",
    "libbsd0",
    "libnftables1",
    "libnftnl11",
    "libseccomp2",
    "nftables",
    "runc",
)
#: Unpacked with all that they need, to become the content of an image.
IMAGE_PACKAGES: Final = ("redis-server", "redis-sentinel")
#: What the image with busybox can do; an applet is chosen by the name of its program.
_APPLETS: Final = ("cat", "cp", "echo", "env", "ls", "nslookup", "sh", "sleep", "true")


@dataclass(frozen=True, slots=True)
class Parts:
    """Where the parts of a cluster are; everything is there."""

    binaries: Binaries
    #: The Debian packages, as they would lie below `/`.
    packages: Path
    #: Folders with OCI layouts: `pause`, `busybox`, `python`, `redis`.
    images: Path

    @classmethod
    def ensure(cls) -> Self:
        """Return the parts, building those that are not in the cache yet."""
        binaries = Binaries.ensure((*CONTROL_PLANE, *NODE))
        cache = binaries.folder.parent
        packages = cache / f"real-cluster-packages-{_short(' '.join((*PACKAGES, *IMAGE_PACKAGES)))}"
        _once(packages, "containerd, runc and network plugins from packages", _unpack_packages)
        made_by = _short((HERE / "images.py").read_text() + (HERE / "parts.py").read_text() + sys.version)
        images = cache / f"real-cluster-images-{made_by}"
        _once(images, "images", lambda folder: _build_images(packages, folder))
        return cls(binaries, packages / "node", images)

    @property
    def programs(self) -> list[Path]:
        """Folders of programs, as on PATH."""
        return [self.binaries.folder, self.packages / "usr/sbin", self.packages / "usr/bin", self.packages / "bin"]

    @property
    def libraries(self) -> list[Path]:
        """Folders of the libraries that the packages brought."""
        return sorted({path.parent for path in self.packages.glob("**/lib/*-linux-gnu/lib*.so*")})


def _short(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:12]


def _once(folder: Path, what: str, build: Callable[[Path], None]) -> None:
    """Build a folder unless it exists; it appears under its name only when it is complete."""
    if folder.exists():
        return
    begun = time.monotonic()
    print(f"preparing {what} (once)", flush=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as unfinished:
        result = Path(unfinished) / "result"
        result.mkdir()
        build(result)
        try:
            result.rename(folder)
        except OSError:
            if not folder.exists():
                raise  # Otherwise another process was faster, with the same result.
    print(f"  prepared in {time.monotonic() - begun:.0f} s", flush=True)


def _unpack_packages(folder: Path) -> None:
    work = folder.parent
    lists, nothing = work / "lists", work / "nothing-installed"
    (lists / "partial").mkdir(parents=True)
    nothing.touch()
    # The package lists are fetched into a folder of ours: the host's own stay as they are.
    apt = ["apt-get", "-q", "-y", "-o", f"Dir::State::Lists={lists}", "-o", "APT::Sandbox::User=root"]
    _run(*apt, "-o", "Acquire::Retries=3", "update", cwd=work)
    node, image = work / "node", work / "image"
    node.mkdir()
    _run(*apt, "download", *PACKAGES, cwd=node)
    (image / "partial").mkdir(parents=True)
    whole = ["-o", f"Dir::State::Status={nothing}", "-o", f"Dir::Cache::Archives={image}", "-o", "Debug::NoLocking=1"]
    _run(*apt, *whole, "install", "--download-only", "--no-install-recommends", *IMAGE_PACKAGES, cwd=work)
    for source, name in ((node, "node"), (image, "image")):
        (folder / name).mkdir()
        for package in sorted(source.glob("*.deb")):
            _run("dpkg-deb", "--extract", str(package), str(folder / name), cwd=work)


def _build_images(packages: Path, folder: Path) -> None:
    machine = os.uname().machine
    pause = folder.parent / "pause"
    environment = {**os.environ, "CGO_ENABLED": "0"}
    _run("go", "build", "-trimpath", "-ldflags=-s -w", "-o", str(pause), ".", cwd=HERE / "pause", env=environment)
    busybox = next(path for path in packages.glob("node/**/bin/busybox"))
    applets = [File(f"bin/{name}", busybox.read_bytes(), 0o755) for name in _APPLETS]
    for image in (
        Image(title="pause", files=[File("pause", pause.read_bytes(), 0o755)], command=("/pause",)),
        Image(title="busybox", files=[*applets, *system_files()], command=()),
        Image(
            title="redis",
            files=[*package_files(packages / "image", "redis-*"), *applets, *system_files()],
            command=("redis-server",),
        ),
        python_image(),
    ):
        write_image(image, folder / image.title, machine)


def _run(*command: str, cwd: Path, env: dict[str, str] | None = None) -> None:
    answer = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)  # noqa: S603 - our own commands
    if answer.returncode:
        raise MissingError(f"{' '.join(command[:2])} … failed: {(answer.stderr or answer.stdout).strip()[-1000:]}")
