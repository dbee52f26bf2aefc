"""Go operators, built once from their modules into a cache outside the repository.

An operator is built in the folder of its module, with its own ``go.mod`` and ``go.sum``. What has to be changed for it
to build today is in a copy of its ``go.mod`` beside the program. Its CRDs are read from the module.
"""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

HERE = Path(__file__).parent


class MissingError(Exception):
    """An operator cannot be had; the message has the command that failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoOperator:
    """An operator of another project, at one version."""

    name: str
    module: str
    version: str
    #: The package of the program in its module.
    package: str = "."
    #: Where its CRDs are in its module.
    crds: str
    #: How it is run; ``{program}`` is its path.
    command: str
    #: Versions of API groups that it needs and Kubernetes has removed.
    old_versions: Mapping[str, str] = field(default_factory=dict)
    #: Requirements with their versions that replace those of its ``go.mod``, because those do not work with today's Go.
    require: Mapping[str, str] = field(default_factory=dict)
    #: Modules that are replaced by a folder here.
    replace: Mapping[str, Path] = field(default_factory=dict)
    #: Modules that cannot be downloaded, and that are not imported.
    empty: tuple[str, ...] = ()
    #: How many of its processes can run on one machine at the same time; 0 for any number.
    most_processes: int = 0

    @property
    def folder(self) -> Path:
        """Where the program is, in the cache."""
        cache = Path(os.environ.get("STEERSMAN_CACHE") or Path.home() / ".cache" / "steersman")
        return cache / f"go-operators/{self.name}-{self.version}"

    @property
    def program(self) -> Path:
        """The path of the program."""
        return self.folder / self.name

    def definitions(self) -> Path:
        """Return the path of its CRDs."""
        return self._source() / self.crds

    def ensure(self) -> None:
        """Build the program unless it is in the cache."""
        if self.program.exists():
            return
        if shutil.which("go") is None:
            raise MissingError(f"{self.name} has to be built with Go, and there is no `go` on PATH")
        self.folder.mkdir(parents=True, exist_ok=True)
        source, begun = self._source(), time.monotonic()
        print(f"building {self.name} {self.version} (once; minutes on two cores)", flush=True)
        file = self._go_mod(source)
        unfinished = self.folder / "unfinished"
        arguments = ["build", "-mod=mod", f"-modfile={file}", "-trimpath", "-ldflags=-s -w", "-o", str(unfinished)]
        _go([*arguments, self.package], source)
        unfinished.rename(self.program)
        print(f"  built {self.name} in {time.monotonic() - begun:.0f} s", flush=True)

    def _source(self) -> Path:
        """Return the folder of its module, which is downloaded if need be."""
        told = json.loads(_go(["mod", "download", "-json", f"{self.module}@{self.version}"], Path.home()))
        return Path(told["Dir"])

    def _go_mod(self, source: Path) -> Path:
        """Write the go.mod that it is built with, and return its path."""
        file = self.folder / "build.mod"
        for name, copy in (("go.mod", file), ("go.sum", self.folder / "build.sum")):
            copy.write_bytes((source / name).read_bytes())
        edits = [f"-require={module}@{version}" for module, version in self.require.items()]
        edits += [f"-replace={module}={folder}" for module, folder in self.replace.items()]
        for module in self.empty:
            folder = self.folder / "empty" / module.replace("/", "_")
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "go.mod").write_text(f"module {module}\n\ngo 1.13\n")
            edits.append(f"-replace={module}={folder}")
        if edits:
            _go(["mod", "edit", *edits, str(file)], source)
        return file


def _go(arguments: list[str], folder: Path) -> str:
    command = ["nice", "go", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603 - go as the user has it
    if done.returncode:
        # `go mod download -json` has its error in the document.
        last = [line for line in (done.stderr + done.stdout).splitlines() if "downloading" not in line][-8:]
        raise MissingError("\n".join([f"{' '.join(command)} failed:", *last]))
    return done.stdout


SAMPLE_CONTROLLER = GoOperator(
    name="sample-controller",
    module="k8s.io/sample-controller",
    version="v0.36.4",
    crds="artifacts/examples/crd-status-subresource.yaml",
    command="{program} -kubeconfig {kubeconfig}",
)
RABBITMQ = GoOperator(
    name="rabbitmq-cluster-operator",
    module="github.com/rabbitmq/cluster-operator",
    version="v1.6.0",
    crds="config/crd/bases",
    # A leader that is slow on a busy machine would give up, which is no bug.
    command="env OPERATOR_NAMESPACE=default KUBE_CONFIG={kubeconfig} LEASE_DURATION=90 RENEW_DEADLINE=80 "
    "RETRY_PERIOD=5 {program} --metrics-addr 127.0.0.1:{port}",
)
#: The first version to be had in which the bugs of the other one are fixed.
RABBITMQ_FIXED = replace(
    RABBITMQ, version="v1.10.0", command=RABBITMQ.command.replace("--metrics-addr", "--metrics-bind-address")
)
ZOOKEEPER = GoOperator(
    name="zookeeper-operator",
    module="github.com/pravega/zookeeper-operator",
    version="v0.2.9",
    package="./cmd/manager",
    crds="deploy/crds",
    command="env WATCH_NAMESPACE= {program} --kubeconfig {kubeconfig}",
    old_versions={"policy/v1beta1": "policy/v1"},
    require={"github.com/modern-go/reflect2": "v1.0.2"},
    replace={"github.com/samuel/go-zookeeper": HERE / "zookeeper_client"},
    empty=("vbom.ml/util", "bou.ke/monkey"),
    # It serves its metrics on port 8080, which cannot be changed.
    most_processes=1,
)
