"""The contenders in other languages, built if their tools are installed; without them they are skipped."""

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Peers:
    """Where the programs of each language are; ``None`` if they cannot be built."""

    go: Path | None = None
    rust: Path | None = None
    java: Path | None = None

    @classmethod
    def built(cls, folder: Path) -> Self:
        """Build everything that can be built, with optimisation."""
        return cls(
            go=build_go(folder, "informer", "reconcile", "runtime"), rust=build_rust(), java=build_java(folder / "java")
        )


def build_go(folder: Path, *programs: str) -> Path | None:
    """Build the programs with client-go and controller-runtime."""
    commands = [["go", "build", "-o", str(folder / name), f"./{name}"] for name in programs]
    return folder if _succeed("client-go and controller-runtime", _HERE / "go", *commands) else None


def build_rust() -> Path | None:
    """Build the programs with kube-rs; they stay in Cargo's folder, because the first build takes minutes."""
    folder = _HERE / "rust"
    return folder / "target" / "release" if _succeed("kube-rs", folder, ["cargo", "build", "--release"]) else None


def build_java(folder: Path) -> Path | None:
    """Build the program with java-operator-sdk: classes, and beside them the libraries."""
    options = [f"-DoutputDirectory={folder / 'lib'}", "-DincludeScope=runtime"]
    fetch = ["mvn", "-q", "-B", *options, "dependency:copy-dependencies"]
    source = "src/main/java/bench/Reconcile.java"
    # Annotation processors of the libraries would write CRDs, which are installed already.
    build = ["javac", "-proc:none", "-cp", f"{folder / 'lib'}/*", "-d", str(folder / "classes"), source]
    return folder if _succeed("java-operator-sdk", _HERE / "java", fetch, build) else None


def _succeed(name: str, folder: Path, *commands: list[str]) -> bool:
    """Run commands; print why if one of them fails."""
    try:
        for command in commands:
            subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)  # noqa: S603 - the user's own tools
    except OSError as error:
        print(f"{name}: not measured: {error}")
        return False
    except subprocess.CalledProcessError as error:
        lines = (error.stderr or error.stdout or "").strip().splitlines()
        print(f"{name}: not measured, it cannot be built: {lines[-1] if lines else error}")
        return False
    return True
