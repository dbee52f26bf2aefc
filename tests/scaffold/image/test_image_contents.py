"""What an image contains: every package that its Python needs, compiled modules, and libraries that exist."""

import gzip
import importlib.util
import io
import marshal
import platform
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement as OtherRequirement

from steersman.errors import ConfigError
from steersman.scaffold.image.base import read_base
from steersman.scaffold.image.bytecode import with_bytecode
from steersman.scaffold.image.contents import needed_distributions
from steersman.scaffold.image.elf import library_problems, read_elf
from steersman.scaffold.image.layer import File, layer_of
from steersman.scaffold.image.markers import Requirement, evaluate, target_environment
from tests.support.base_image import PYTHON, base_image

MARKERS = [
    'python_full_version < "3.11.3"',
    'python_version < "3.12" and sys_platform == "linux"',
    'python_version >= "3.10" or extra == "x"',
    '(os_name == "nt" or sys_platform == "win32") and python_version > "3"',
    'sys_platform != "win32" and implementation_name == "cpython"',
    'python_version ~= "3.11"',
    'python_version == "3.*"',
    'python_version != "3.11.*"',
    'platform_machine in "x86_64 aarch64"',
    'platform_machine not in "x86_64"',
    '"linux" in sys_platform',
    '"3.9" <= python_version',
    "platform_python_implementation == 'CPython'",
    'extra == "fast"',
]


@pytest.mark.parametrize("marker", MARKERS)
@pytest.mark.parametrize("python", ["3.11.2", "3.11.3", "3.12.0rc1", "3.14.0"])
@pytest.mark.parametrize("system", ["linux/amd64", "linux/arm64"])
def test_markers_have_the_same_meaning_as_in_other_tools(marker: str, python: str, system: str) -> None:
    """Compared with another implementation of the same standard."""
    for extra in ("", "fast"):
        environment = target_environment(python, system) | {"extra": extra}
        assert evaluate(marker, environment) == Marker(marker).evaluate(environment)


def test_requirements_of_all_installed_packages_are_parsed_alike() -> None:
    """Hundreds of requirements, as their authors wrote them."""
    environment = target_environment("3.11.2", "linux/amd64")
    texts = [text for found in distributions() for text in found.requires or ()]
    assert len(texts) > 50
    for text in texts:
        ours, theirs = Requirement.parse(text), OtherRequirement(text)
        assert ours.name == theirs.name.lower().replace("_", "-").replace(".", "-")
        assert {extra.lower() for extra in theirs.extras} == set(ours.extras)
        holds = theirs.marker is None or theirs.marker.evaluate({**environment, "extra": ""})
        assert ours.is_needed(environment) == holds


@pytest.mark.parametrize(
    "marker", ["python_version", "python_version < ", 'a == "b"', '(os_name == "a"', 'os_name == "a" "b"']
)
def test_a_marker_that_cannot_be_read_is_an_error(marker: str) -> None:
    """When such a package was left out, the pod restarted forever."""
    with pytest.raises(ConfigError, match="marker"):
        evaluate(marker, target_environment("3.11.2", "linux/amd64"))


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make packages available only to this test: one needs another before Python 3.11.3, and has an extra."""
    requires = ['only-before; python_full_version < "3.11.3"', 'only-with-extra; extra == "fast"']
    for name, needs in {"needy": requires, "only-with-extra": []}.items():
        folder = tmp_path / f"{name.replace('-', '_')}-1.0.dist-info"
        folder.mkdir()
        lines = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.0", *(f"Requires-Dist: {one}" for one in needs)]
        (folder / "METADATA").write_text("\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def names(*requirements: str, python: str) -> list[str]:
    """Return the names of the packages that an image needs."""
    environment = target_environment(python, "linux/amd64")
    return [found.metadata["Name"] for found in needed_distributions(list(requirements), environment)]


def test_a_package_that_only_the_base_needs_is_named(packages: Path) -> None:
    """It was left out, since every marker was treated as optional, and the pod failed at its first import."""
    del packages
    assert names("needy", python="3.11.3") == ["needy"]
    with pytest.raises(ConfigError, match=r"only-before, which needy needs in an image with Python 3\.11\.2"):
        names("needy", python="3.11.2")


def test_requested_extras_are_followed(packages: Path) -> None:
    """They were always left out."""
    del packages
    assert names("needy[fast]>=1", python="3.12.0") == ["needy", "only-with-extra"]
    assert names("needy", "needy[fast]", python="3.12.0") == ["needy", "only-with-extra"]
    assert names('absent; sys_platform == "win32"', python="3.12.0") == []


# Bytecode.


def test_modules_are_compiled_where_python_looks_for_them(tmp_path: Path) -> None:
    """Valid at any time of the file, with the path that tracebacks show in the image."""
    source = b"def f():\n    return {'a', 'b'} | {1, 2}\n"
    files = with_bytecode([File("app/code/fleet/main.py", source), File("app/code/fleet/data.txt", b"x")])
    cache = Path(importlib.util.cache_from_source("app/code/fleet/main.py")).as_posix()
    assert [file.path for file in files] == ["app/code/fleet/main.py", "app/code/fleet/data.txt", cache]
    compiled = files[-1].data
    assert compiled[:4] == importlib.util.MAGIC_NUMBER
    assert int.from_bytes(compiled[4:8], "little") == 0b01  # by an unchecked hash
    assert marshal.loads(compiled[16:]).co_filename == "/app/code/fleet/main.py"  # noqa: S302 - made here
    del tmp_path


def test_equal_modules_are_compiled_to_equal_bytes() -> None:
    """The digest of an image identifies its content; sets and names must not change it."""
    text = "NAMES = frozenset({" + ", ".join(f"'name{number}'" for number in range(50)) + "})\n"
    files = [File(f"app/code/a{number}.py", text.encode()) for number in range(5)]
    assert with_bytecode(files) == with_bytecode(list(files))


def test_files_that_are_not_python_are_unchanged() -> None:
    """Packages contain templates that end in .py."""
    files = [File("app/packages/template.py", b"def {{ name }}():\n")]
    assert with_bytecode(files) == files


# Libraries.


def extension() -> File:
    """Return an extension module of this Python."""
    folder = Path(sysconfig.get_path("platlib"))
    path = next(iter(sorted(folder.rglob("*msgspec*/_core*.so"))), None) or next(folder.rglob("*.so"))
    return File(f"app/packages/{path.relative_to(folder).as_posix()}", path.read_bytes())


def test_an_extension_module_is_parsed_as_by_readelf(tmp_path: Path) -> None:
    """Compared with another reader of the format."""
    readelf = shutil.which("readelf")
    if readelf is None:
        pytest.skip("readelf is not installed: apt-get install binutils")
    file = extension()
    (tmp_path / "a.so").write_bytes(file.data)
    text = subprocess.run([readelf, "-d", tmp_path / "a.so"], capture_output=True, text=True, check=True).stdout  # noqa: S603 - the test's own tool
    expected = [line.split("[")[1].rstrip("]") for line in text.splitlines() if "(NEEDED)" in line]
    found = read_elf(file.data)
    assert found is not None
    assert list(found.needed) == expected


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the extension module here is one for another machine")
def test_a_missing_library_and_a_wrong_machine_are_problems() -> None:
    """Both are an ImportError in the cluster."""
    file = extension()
    found = read_elf(file.data)
    assert found is not None
    assert library_problems([file], found.needed, "amd64") == []
    assert library_problems([file], found.needed[1:], "amd64") == [
        f"{file.path.removeprefix('app/packages/')} needs {found.needed[0]}"
    ]
    assert "is built for amd64, not for arm64" in library_problems([file], found.needed, "arm64")[0]


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"\x7fELF\x02\x01" + b"\xff" * 200, b"#!/bin/sh\n"])
def test_files_that_are_not_libraries_are_ignored(data: bytes) -> None:
    """Packages contain all kinds of files, and damaged ones are not our concern."""
    found = read_elf(data)
    assert found is None or found.needed == ()


# Bases.


def test_the_python_of_a_base_is_found_in_several_ways(tmp_path: Path) -> None:
    """The official images declare it; those of distributions have it in their files."""
    assert read_base(base_image(tmp_path / "says"), "linux/amd64").python == f"{PYTHON}.1"
    for name, files, expected in [
        ("header", [File("usr/local/include/python3.11/patchlevel.h", b'#define PY_VERSION  "3.11.9"\n')], "3.11.9"),
        (
            "dpkg",
            [File("var/lib/dpkg/status", b"Package: python3.11-minimal\nA: b\nVersion: 3.11.2-6+deb12u5\n")],
            "3.11.2",
        ),
        ("library", [File("usr/lib/python3.12/os.py", b"")], "3.12"),
        ("nothing", [File("etc/passwd", b"")], ""),
    ]:
        base = base_image(tmp_path / name, python="", files=[*files, File("usr/lib/libc.so.6", b"")])
        found = read_base(base, "linux/amd64")
        assert found.python == expected, name
        assert "libc.so.6" in found.names


def test_this_interpreter_is_the_one_that_compiles() -> None:
    """Bytecode is for one minor version: that of the base, which is compared before."""
    assert f"{sys.version_info.major}{sys.version_info.minor}" in str(sys.implementation.cache_tag)
    with tarfile.open(
        fileobj=io.BytesIO(gzip.decompress(layer_of("a", with_bytecode([File("a.py", b"")]), epoch=0).data))
    ) as archive:
        assert f"__pycache__/a.{sys.implementation.cache_tag}.pyc" in archive.getnames()
