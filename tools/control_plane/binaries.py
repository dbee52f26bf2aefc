"""The programs of a control plane, built from their Go modules into a cache outside the repository."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

HERE = Path(__file__).parent
#: What a control plane is made of, and what a node needs beside it.
CONTROL_PLANE = ("kube-apiserver", "kube-controller-manager", "kubectl", "etcd")
NODE = ("kube-scheduler", "kubelet", "kube-proxy", "coredns")
#: The end-to-end specs of Kubernetes, as a program.
SPECS = "e2e.test"
#: Older etcd servers make kube-apiserver switch off WatchList and consistent reads from its cache, without a word.
OLDEST_ETCD = (3, 5, 13)


class MissingError(Exception):
    """A program is missing and cannot be built; the message has the reason and what to do."""


def cache_folder() -> Path:
    """Return the folder of everything that is built once."""
    return Path(os.environ.get("STEERSMAN_CACHE") or Path.home() / ".cache" / "steersman")


def pinned_version(module: Path, requirement: str) -> str:
    """Return the version of a requirement in a module's go.mod."""
    match = re.search(rf"{re.escape(requirement)} v(\S+)", (module / "go.mod").read_text())
    if match is None:
        raise MissingError(f"{module / 'go.mod'} does not pin {requirement}")
    return match[1]


def _module_of(minor: str) -> Path:
    """Return the module that pins a minor version of Kubernetes, such as 1.33; the newest one without a name."""
    newest = HERE / "kubernetes"
    if not minor or pinned_version(newest, "k8s.io/kubernetes").startswith(f"{minor}."):
        return newest
    older = HERE / f"kubernetes-{minor}"
    if not older.exists():
        others = ", ".join(sorted(path.name.partition("-")[2] for path in HERE.glob("kubernetes-*")))
        raise MissingError(f"Kubernetes {minor} is not pinned; use one of {others}, or none for the newest")
    return older


def build_program(what: str, module: Path, *arguments: str) -> None:
    """Run go with progress messages: the first build takes minutes."""
    begun = time.monotonic()
    print(f"building {what} (once; several minutes on two cores)", flush=True)
    # Go ends with this process, even if it is killed; setpriv is part of util-linux.
    follow = ("setpriv", "--pdeathsig", "TERM", "--") if shutil.which("setpriv") else ()
    with subprocess.Popen([*follow, "go", *arguments], cwd=module) as process:  # noqa: S603 - go as the user has it
        try:
            code = _wait(process, what, begun)
        except BaseException:
            process.terminate()
            raise
    if code:
        raise MissingError(f"building {what} failed (go's own message is above)")
    print(f"  built {what} in {time.monotonic() - begun:.0f} s", flush=True)


def _wait(process: "subprocess.Popen[bytes]", what: str, begun: float) -> int:
    while True:
        try:
            return process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            print(f"  still building {what}: {time.monotonic() - begun:.0f} s", flush=True)


@dataclass(frozen=True, slots=True)
class Binaries:
    """A folder with all programs of one control plane."""

    folder: Path
    kubernetes: str
    etcd: str

    def __getitem__(self, program: str) -> str:
        return str(self.folder / program)

    @classmethod
    def ensure(cls, programs: Iterable[str] = CONTROL_PLANE, *, minor: str = "") -> Self:
        """Return the programs, building those that are not in the cache yet; an older Kubernetes by its ``minor``."""
        binaries = cls._pinned(minor)
        if missing := binaries.missing(programs):
            binaries.build(missing)
        return binaries

    @classmethod
    def if_built(cls) -> Self | None:
        """Return the programs if they are all in the cache; nothing is built."""
        binaries = cls._pinned()
        return None if binaries.missing() else binaries

    def missing(self, programs: Iterable[str] = CONTROL_PLANE) -> list[str]:
        """Return the names of programs that are not in the cache."""
        return [name for name in programs if not Path(self[name]).exists()]

    @classmethod
    def _pinned(cls, minor: str = "") -> Self:
        kubernetes = pinned_version(_module_of(minor), "k8s.io/kubernetes")
        etcd = pinned_version(HERE / "etcd", "go.etcd.io/etcd/server/v3")
        if tuple(map(int, etcd.split("-")[0].split("."))) < OLDEST_ETCD:
            raise MissingError(f"etcd {etcd} is too old: kube-apiserver would silently disable WatchList")
        return cls(cache_folder() / f"control-plane-{kubernetes}-etcd-{etcd}", kubernetes, etcd)

    def build(self, missing: list[str]) -> None:
        """Build programs from their Go modules."""
        if shutil.which("go") is None:
            raise MissingError("a real control plane needs Go to be built, and there is no `go` on PATH")
        self.folder.mkdir(parents=True, exist_ok=True)
        # Programs get their final names only when they are complete.
        unfinished = self.folder / "unfinished"
        unfinished.mkdir(exist_ok=True)
        for name in missing:
            module, package, version, flags = self._recipe(name)
            # Without vet, a test program shares the compiled packages of the others.
            verb = ("test", "-c", "-vet=off") if name == SPECS else ("build",)
            arguments = (*verb, "-trimpath", "-o", str(unfinished / name), f"-ldflags=-s -w {flags}", package)
            build_program(f"{name} {version}", HERE / module, *arguments)
            (unfinished / name).rename(self.folder / name)
        unfinished.rmdir()

    def _recipe(self, name: str) -> tuple[str, str, str, str]:
        """Return the Go module of a program, its package, its version and what the linker writes into it."""
        if name == "etcd":
            return "etcd", "go.etcd.io/etcd/server/v3", self.etcd, ""
        if name == "coredns":
            return "coredns", ".", pinned_version(HERE / "coredns", "github.com/coredns/coredns"), ""
        major, minor, _ = self.kubernetes.split(".", 2)
        version = "k8s.io/component-base/version"
        flags = (
            f"-X {version}.gitVersion=v{self.kubernetes} -X {version}.gitMajor={major} "
            f"-X {version}.gitMinor={minor} -X k8s.io/client-go/pkg/version.gitVersion=v{self.kubernetes}"
        )
        package = "k8s.io/kubernetes/test/e2e" if name == SPECS else f"k8s.io/kubernetes/cmd/{name}"
        return _module_of(f"{major}.{minor}").name, package, self.kubernetes, flags
