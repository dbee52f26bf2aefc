"""`User`: types commands inside of a cluster, waits for what they bring about, and notes how long each step took."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from steersman.json_types import JsonObject
from tools.real_cluster.services import REGISTRY

T = TypeVar("T")
_PATIENCE: Final = 90.0
#: Shown of the output of a command that failed.
_TAIL: Final = 3000


class ScenarioError(Exception):
    """A step did not do what it should."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step that was done."""

    name: str
    seconds: float
    #: What was seen, if that is worth a line.
    note: str = ""

    def __str__(self) -> str:
        return f"{self.seconds:7.1f} s  {self.name}{f' ({self.note})' if self.note else ''}"


@dataclass(slots=True)
class User:
    """Works in one folder."""

    folder: Path
    #: OCI layouts that the cluster was prepared with.
    images: Path
    steps: list[Step] = field(default_factory=list)

    @contextmanager
    def step(self, name: str) -> Iterator[list[str]]:
        """Measure a step; what is appended to the list becomes its note."""
        begun = time.monotonic()
        notes: list[str] = []
        yield notes
        self.done(name, time.monotonic() - begun, "; ".join(notes))

    def done(self, name: str, seconds: float, note: str = "") -> None:
        """Note a step that was measured elsewhere."""
        self.steps.append(Step(name, seconds, note))
        print(self.steps[-1], flush=True)

    def type(self, *command: str) -> str:
        """Run a command; return its output. Raise `ScenarioError` with all it printed if it fails."""
        answer = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)  # noqa: S603 - our own commands
        if answer.returncode:
            raise ScenarioError(
                f"'{' '.join(command)}' ended with {answer.returncode}:\n{(answer.stdout + answer.stderr)[-_TAIL:]}"
            )
        return answer.stdout

    def steer(self, *arguments: str) -> str:
        """Run `steer`."""
        return self.type("steer", *arguments)

    def failing(self, *arguments: str) -> str:
        """Run `steer`, which must fail; return what it wrote."""
        answer = subprocess.run(["steer", *arguments], cwd=self.folder, capture_output=True, text=True, check=False)  # noqa: S603, S607 - our own command
        if not answer.returncode:
            raise ScenarioError(f"'steer {' '.join(arguments)}' did not fail:\n{answer.stdout[-_TAIL:]}")
        return answer.stdout + answer.stderr

    def kubectl(self, *arguments: str) -> str:
        """Run `kubectl`."""
        return self.type("kubectl", *arguments)

    def get(self, *arguments: str) -> Any:
        """Return what `kubectl get` finds, as JSON; `None` if there is no such object."""
        text = self.kubectl("get", *arguments, "--ignore-not-found", "-o", "json")
        return json.loads(text) if text else None

    def items(self, *arguments: str) -> list[JsonObject]:
        """Return the objects of a list."""
        found: list[JsonObject] = (self.get(*arguments) or {"items": []})["items"]
        return found

    def until(self, what: str, look: Callable[[], T | None], seconds: float = _PATIENCE) -> T:
        """Poll until there is a result, and return it."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if found := look():
                return found
            time.sleep(0.1)  # noqa: TID251 - a tool for people, outside the library
        raise ScenarioError(f"not within {seconds:g} s: {what}\n{self.situation()}")

    def situation(self) -> str:
        """Return what there is in the cluster, for a person who looks for the cause of a failure."""
        namespaces = {pod["metadata"]["namespace"] for pod in self.items("pods", "-A")}
        asked = [
            ["kubectl", "get", "pods", "-A", "-o", "wide"],
            ["kubectl", "get", "events", "-A", "--sort-by=.lastTimestamp"],
            *(
                ["kubectl", "logs", "-n", name, "--prefix", "--tail=15", "-l", "app.kubernetes.io/managed-by=steer"]
                for name in sorted(namespaces)
            ),
        ]
        texts = [subprocess.run(command, capture_output=True, text=True, check=False).stdout for command in asked]  # noqa: S603 - our own commands
        return "\n".join(text[-_TAIL:] for text in texts)

    def publish(self, name: str) -> str:
        """Build the image of the project in this folder and push it; return how to name it."""
        with self.step("image build") as notes:
            notes.append(self.steer("image", "build", "--base", str(self.images / "python")).split(": ")[0].strip())
        with self.step("image push"):
            text = self.steer("image", "push", f"{REGISTRY}/{name}:1")
        return text.strip().rpartition(" ")[2]

    def deploy(self, image: str) -> None:
        """Deploy the operator and wait until it runs."""
        with self.step("deploy, until its pods are ready"):
            self.steer("deploy", "--image", image, "--yes")

    def undeploy(self, namespace: str) -> None:
        """Undeploy the operator and wait until its namespace is gone."""
        with self.step("undeploy, until its namespace is gone"):
            self.steer("undeploy", "--yes")
            self.until("the namespace is gone", lambda: self.get("namespace", namespace) is None)

    def leader(self, name: str, namespace: str) -> str:
        """Return the holder of the Lease of an operator; empty if there is none."""
        lease = self.get("lease", name, "-n", namespace)
        return str((lease or {"spec": {}})["spec"].get("holderIdentity") or "")


def kill_processes(pod: JsonObject, number: signal.Signals) -> None:
    """Send a signal to the processes of a pod's operator, as seen by the node."""
    uid = pod["metadata"]["uid"]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            is_of_pod = uid in (process / "cgroup").read_text().replace("_", "-")
            if is_of_pod and b"steersman" in (process / "cmdline").read_bytes():
                os.kill(int(process.name), number)
        except (FileNotFoundError, ProcessLookupError):
            continue


def kill_program(program: str) -> None:
    """Kill a program of the cluster itself."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "comm").read_text().strip() == program[:15]:
                os.kill(int(process.name), signal.SIGKILL)
        except (FileNotFoundError, ProcessLookupError):
            continue


def copied_example(source: Path, folder: Path) -> Path:
    """Copy an example to where it can be built, without what tests left in it."""
    return Path(shutil.copytree(source, folder, ignore=shutil.ignore_patterns("build", "__pycache__", ".*")))
