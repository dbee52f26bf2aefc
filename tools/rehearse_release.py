"""`make rehearse-release`: everything that a release does except publishing, on a clone of the last commit.

It builds wheel and sdist twice and compares them byte for byte, looks into the wheel, serves it from an index on this
machine, installs it by name into an empty environment, begins a project there and tests it. Where
there are root and Go, the scenario "fleet" of ``make e2e-real`` follows: image, registry, deployment on a real cluster.

A release itself runs the same steps: ``TAG=v0.2.0`` fails if the tag is not the version, and ``DIST=dist`` keeps what
was built and compared, so that exactly these files are published.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

from steersman.version import __version__

ROOT: Final = Path(__file__).parents[1]
#: Largest wheel that is not a mistake.
_MOST_BYTES: Final = 3_000_000
#: What a wheel must have beside the package itself.
_PARTS: Final = ("dist-info/sboms/steersman.cdx.json", "dist-info/licenses/LICENSE", "steersman/commit.txt")


def main() -> None:
    """Rehearse, and print how long each step took; the first failure ends it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tag", help="the tag of the release; must be v and the version")
    parser.add_argument("--dist", type=Path, help="a folder for the wheel and the sdist")
    parser.add_argument("--no-cluster", action="store_true", help="do not deploy to a real cluster")
    options = parser.parse_args()
    if options.tag and options.tag != f"v{__version__}":
        sys.exit(f"the tag {options.tag} is not v{__version__}, the version in src/steersman/version.py")
    with tempfile.TemporaryDirectory(prefix="steersman-release-") as scratch:
        place = Path(scratch)
        clone = place / "clone"
        _step("clone the last commit", lambda: _run("git", "clone", "-q", str(ROOT), str(clone)))
        _step("build twice, byte for byte the same", lambda: _build_twice(clone, place))
        _step("look into wheel and sdist", lambda: _inspect(place / "first"))
        _step("collect dependencies for the index", lambda: _collect(clone, place))
        with _index(place / "first") as url:
            _step("install by name into an empty environment", lambda: _install(place, url))
        _step("begin a project and test it", lambda: _use(place))
        if options.no_cluster:
            print("not done: deploy to a real cluster, because of --no-cluster")
        elif os.geteuid() == 0 and shutil.which("go"):
            scenario = [sys.executable, "-m", "tools.real_cluster.scenarios", "fleet"]
            _step("deploy to a real cluster", lambda: _run(*scenario, cwd=ROOT))
        else:
            print("not done: deploy to a real cluster, which needs root and Go")
        if options.dist:
            _keep(place / "second", options.dist)
    print("the release is ready: nothing was published")


def _step(name: str, work: Callable[[], None]) -> None:
    begun = time.monotonic()
    work()
    print(f"{time.monotonic() - begun:6.1f} s  {name}", flush=True)


def _run(*command: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """Run a command and return what it printed; a failure ends the rehearsal with its output."""
    made = subprocess.run(  # noqa: S603 - our own commands
        command, cwd=cwd, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    if made.returncode:
        sys.exit(f"{' '.join(command)} failed with {made.returncode}:\n{made.stdout}")
    return made.stdout


def _build_twice(clone: Path, place: Path) -> None:
    for name in ("first", "second"):
        _run(sys.executable, "-m", "hatchling", "build", "-d", str(place / name), cwd=clone)
    first, second = ({path.name: _digest(path) for path in (place / name).iterdir()} for name in ("first", "second"))
    if first != second or len(first) != len(("wheel", "sdist")):
        sys.exit(f"the two builds differ: {first} and {second}")
    for name, digest in sorted(first.items()):
        print(f"          {digest}  {name}")


def _keep(built: Path, dist: Path) -> None:
    """Copy wheel and sdist, which the first build and the index hold between other files, to a folder of their own."""
    dist.mkdir(parents=True, exist_ok=True)
    for path in sorted(built.iterdir()):
        shutil.copy2(path, dist)
        print(f"          {dist / path.name}")


def _digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def _inspect(folder: Path) -> None:
    wheel, sdist = folder / f"steersman-{__version__}-py3-none-any.whl", folder / f"steersman-{__version__}.tar.gz"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    missing = [part for part in _PARTS if not any(name.endswith(part) for name in names)]
    strange = [name for name in names if not name.startswith(("steersman/", "steersman-")) or "__pycache__" in name]
    if missing or strange or wheel.stat().st_size > _MOST_BYTES:
        sys.exit(f"{wheel.name}: {wheel.stat().st_size} bytes, missing {missing}, strange {strange}")
    with tarfile.open(sdist) as archive:
        if not any(name.endswith("src/steersman/commit.txt") for name in archive.getnames()):
            sys.exit(f"{sdist.name} does not say which commit it is from")
    print(f"          the wheel has {wheel.stat().st_size:,} bytes in {len(names)} files")


def _collect(clone: Path, place: Path) -> None:
    """Put the locked dependencies beside the wheel, so that an index of this machine alone is enough."""
    download = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--require-hashes",
        "--no-deps",
        "-d",
        str(place / "first"),
    ]
    _run(*download, "-r", "requirements/dev.txt", cwd=clone)


@contextmanager
def _index(folder: Path) -> Iterator[str]:
    """Serve a folder as a package index (PEP 503) on loopback; yield its address."""
    simple = folder / "simple"
    for path in list(folder.glob("*.whl")) + list(folder.glob("*.tar.gz")):
        project = path.name.split("-")[0].replace("_", "-").replace(".", "-").lower()
        (simple / project).mkdir(parents=True, exist_ok=True)
        with (simple / project / "index.html").open("a", encoding="utf-8") as page:
            page.write(f'<a href="../../{path.name}#sha256={_digest(path)}">{path.name}</a>\n')
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/simple/"
        server.shutdown()


class _Quiet(SimpleHTTPRequestHandler):
    """Logs no requests."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the standard library
        """Print nothing."""


def _install(place: Path, url: str) -> None:
    environment = place / "environment"
    _run(sys.executable, "-m", "venv", str(environment))
    pip = [str(environment / "bin" / "pip"), "--isolated", "-q", "install", "--disable-pip-version-check"]
    _run(*pip, "--index-url", url, f"steersman=={__version__}", "pytest")
    told = _run(str(environment / "bin" / "steer"), "--version").strip()
    commit = _run("git", "rev-parse", "HEAD", cwd=ROOT).strip()
    if commit[:12] not in told:
        sys.exit(f"the installed steer says {told!r}, and the commit is {commit}")
    print(f"          {told}")


def _use(place: Path) -> None:
    """Begin a project as a user does, and run its tests; no cluster is touched."""
    binaries, project = place / "environment" / "bin", place / "fleet"
    project.mkdir()
    path = f"{binaries}{os.pathsep}{os.environ['PATH']}"
    env = {"PATH": path, "HOME": str(place), "LANG": "C.UTF-8", "KUBECONFIG": os.devnull}
    steer = partial(_run, str(binaries / "steer"), cwd=project, env=env)
    steer("init", "fleet", "--domain", "example.com")
    steer("create", "api", "--group", "shop", "--version", "v1", "--kind", "Website")
    steer("manifests")
    told = _run(str(binaries / "python"), "-m", "pytest", "-q", cwd=project, env=env)
    print(f"          {told.strip().splitlines()[-1]}")


if __name__ == "__main__":
    main()
