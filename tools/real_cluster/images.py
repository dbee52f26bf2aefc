"""Container images made from programs of this machine: a program, the shared libraries that it loads, and data."""

import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from steersman.json_types import JsonObject
from steersman.scaffold.image.bytecode import with_bytecode
from steersman.scaffold.image.layer import File, layer_of
from steersman.scaffold.image.layout import CONFIG, MANIFEST, Layout, json_bytes

MACHINE: Final = {"x86_64": "amd64", "aarch64": "arm64"}
#: Where all libraries lie in an image; the loader's own search path differs between distributions.
_LIBRARIES: Final = "usr/local/lib"
_LIBRARY: Final = re.compile(r"^\s*(?:\S+ => )?(/\S+) \(0x[0-9a-f]+\)$", re.MULTILINE)
_LOADER: Final = re.compile(r"/ld-linux|/ld64|/ld-musl")
#: Libraries that extension modules of packages load, and that every image of a distribution has beside the C library.
_USUAL: Final = (
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libnss_dns.so.2",
    "libnss_files.so.2",
    "libpthread.so.0",
    "libresolv.so.2",
    "librt.so.1",
    "libstdc++.so.6",
    "libutil.so.1",
)
#: Folders of the standard library that an operator does not need.
_LEFT_OUT: Final = frozenset(
    {"__pycache__", "site-packages", "dist-packages", "test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """What an image contains and runs."""

    title: str
    files: Iterable[File]
    command: tuple[str, ...]
    environment: tuple[str, ...] = ()


def write_image(image: Image, folder: Path, machine: str) -> None:
    """Write an image as an OCI layout; the folder appears only when it is complete."""
    layer = layer_of(image.title, image.files, epoch=0)
    config: JsonObject = {
        "os": "linux",
        "architecture": MACHINE[machine],
        "config": {
            "Entrypoint": list(image.command),
            "Env": ["PATH=/usr/local/bin:/usr/bin:/bin", f"LD_LIBRARY_PATH=/{_LIBRARIES}", *image.environment],
        },
        "rootfs": {"type": "layers", "diff_ids": [layer.diff_id]},
    }
    with TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as unfinished:
        layout = Layout(Path(unfinished) / "layout")
        layout.put(layer.data)
        data = json_bytes(config)
        manifest = json_bytes(
            {
                "schemaVersion": 2,
                "mediaType": MANIFEST,
                "config": {"mediaType": CONFIG, "digest": layout.put(data), "size": len(data)},
                "layers": [layer.descriptor],
            }
        )
        descriptor = {
            "mediaType": MANIFEST,
            "digest": layout.put(manifest),
            "size": len(manifest),
            "platform": {"os": "linux", "architecture": MACHINE[machine]},
        }
        layout.finish(descriptor, "1")
        shutil.rmtree(folder, ignore_errors=True)
        layout.root.rename(folder)


def package_files(root: Path, programs: str) -> Iterator[File]:
    """Yield programs of unpacked packages, by a pattern, and all shared libraries beside them.

    Links are replaced by what they point to, below the same root.
    """
    for pattern in (f"usr/bin/{programs}", "lib64/ld-*", "**/lib/*-linux-gnu/**/*.so*", "lib/ld-*"):
        for path in sorted(root.glob(pattern)):
            content = _followed(path, root)
            if content.is_file():
                yield File(str(path.relative_to(root)), content.read_bytes(), 0o755)


def _followed(path: Path, root: Path) -> Path:
    while path.is_symlink():
        target = path.readlink()
        path = root / target.relative_to("/") if target.is_absolute() else path.parent / target
    return path


def library_files(programs: Iterable[Path]) -> Iterator[File]:
    """Yield the shared libraries of programs and modules; the loader where programs expect it."""
    loaded = {found for program in programs for found in _loaded(program)}
    folders = {Path(found).parent for found in loaded if Path(found).name == "libc.so.6"}
    usual = {str(folder / name) for folder in folders for name in _USUAL if (folder / name).exists()}
    for library in sorted(loaded | usual):
        is_loader = _LOADER.search(library) is not None
        place = library.lstrip("/") if is_loader else f"{_LIBRARIES}/{Path(library).name}"
        yield File(place, Path(library).read_bytes(), 0o755)


def _loaded(program: Path) -> list[str]:
    answer = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False)  # noqa: S603, S607 - the system's ldd on our own files
    return _LIBRARY.findall(answer.stdout)  # ldd fails for static programs, which load none


def python_image() -> Image:
    """Return an image with the interpreter that runs this, so that `steer image build` finds a base that fits."""
    library = Path(sysconfig.get_path("stdlib"))
    interpreter = Path(sys.executable).resolve()
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    paths = [path for path in sorted(library.rglob("*")) if path.is_file() and _is_needed(path.relative_to(library))]
    standard = [File(f"{_LIBRARIES}/{version}/{path.relative_to(library)}", path.read_bytes()) for path in paths]
    extensions = [interpreter, *(path for path in paths if path.suffix == ".so")]
    return Image(
        title="python",
        files=[
            File("usr/local/bin/python3", interpreter.read_bytes(), 0o755),
            *library_files(extensions),
            *with_bytecode(standard),
            *system_files(),
        ],
        command=("python3",),
        environment=(f"PYTHON_VERSION={sys.version.split()[0]}",),
    )


def _is_needed(path: Path) -> bool:
    is_static = path.suffix in {".a", ".pyc"} or path.parts[0].startswith("config-")
    return not is_static and _LEFT_OUT.isdisjoint(path.parts)


def system_files() -> Iterator[File]:
    """Yield what the C library reads: users, and how names are looked up; libraries load their plugins by name."""
    yield File("etc/passwd", b"root:x:0:0:root:/:/bin/sh\n")
    yield File("etc/nsswitch.conf", b"hosts: files dns\n")
    yield File("tmp/.keep", b"")
