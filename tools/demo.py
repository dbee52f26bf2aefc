"""`make demo`: a custom resource, its operator and a Kubernetes cluster, with nothing but Python and real kubectl.

It plays the story of a CustomPod through `steer dev`: one replica, three, a killed pod, one again, a save that changes
the rules, and the end. It needs no cluster, ends by itself, and leaves nothing behind.
"""

import os
import queue
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
from pathlib import Path
from typing import IO

EXAMPLE = Path("examples/custompod")
CLASSES = "custompod/api/custom_pod_v1.py"
OBJECT = "custompod/custompod-sample"
#: Seconds that anything may take.
PATIENCE = 30.0
IS_COLOURED = sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def paint(text: str, code: str) -> str:
    """Colour a text where somebody sees it."""
    return f"\033[{code}m{text}\033[0m" if IS_COLOURED else text


def say(text: str) -> None:
    """Tell what comes next."""
    print(f"\n{paint(f'# {text}', '36')}", flush=True)


def typed(command: str) -> None:
    """Show what a user would type."""
    print(paint(f"$ {command}", "1"), flush=True)


class Steer:
    """A `steer dev` in its terminal, whose lines are shown beside the story."""

    def __init__(self, folder: Path) -> None:
        self._lines: queue.Queue[str] = queue.Queue()
        self._process = subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, "-m", "steersman.cli", "dev", str(folder), "--plain"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self._process.stdout is not None  # noqa: S101 - a pipe was asked for
        threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True).start()

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            self._lines.put(line.rstrip("\n"))

    def wait_for(self, text: str) -> None:
        """Show its lines until one has this text."""
        line = ""
        while text not in line:
            try:
                line = self._lines.get(timeout=PATIENCE)
            except queue.Empty:
                sys.exit(f"demo: steer dev did not say {text!r}")
            self._show(line)

    def catch_up(self) -> None:
        """Show the lines that have come meanwhile."""
        while not self._lines.empty():
            self._show(self._lines.get())

    @staticmethod
    def _show(line: str) -> None:
        print(paint(f"  | {line}", "2"), flush=True)

    def stop(self) -> int:
        """Press Ctrl-C."""
        self._process.send_signal(signal.SIGINT)
        return self._process.wait(PATIENCE)

    def end(self) -> None:
        """Make sure that it is gone, whatever happened."""
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait(PATIENCE)


class Kubectl:
    """The kubectl of this environment, as a user has it in another terminal."""

    def __init__(self, folder: Path) -> None:
        here = Path(sysconfig.get_path("scripts")) / "kubectl"
        self._program = str(here) if here.exists() else "kubectl"
        path = os.environ.get("PATH", "")
        self._environment = {"PATH": path, "HOME": str(folder), "KUBECONFIG": str(folder / ".steer/kubeconfig")}
        self._folder = folder

    def __call__(self, *arguments: str, refused: bool = False) -> str:
        """Run a command and show it; it must succeed, unless it is to be refused."""
        typed(f"kubectl {' '.join(arguments)}")
        done = subprocess.run(  # noqa: S603 - the kubectl of this environment
            [self._program, *arguments],
            env=self._environment,
            cwd=self._folder,
            text=True,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        print((done.stdout + done.stderr).rstrip(), flush=True)
        if bool(done.returncode) is not refused:
            sys.exit(f"demo: kubectl {arguments[0]} ended with {done.returncode}")
        return done.stdout

    def wait_ready(self, replicas: int) -> None:
        """Wait until so many pods are ready."""
        self("wait", OBJECT, f"--for=jsonpath={{.status.readyReplicas}}={replicas}", f"--timeout={PATIENCE:.0f}s")


def story(folder: Path, steer: Steer, kubectl: Kubectl) -> None:
    """Play it."""
    steer.wait_for("custompod is running")
    say("The definition comes from the Python class; it is installed already:")
    kubectl("explain", "custompod.spec")
    say("One object asks for one pod:")
    kubectl("apply", "-f", "samples")
    kubectl.wait_ready(1)
    steer.catch_up()
    say("Three, please:")
    kubectl("scale", OBJECT, "--replicas=3")
    kubectl.wait_ready(3)
    pods = kubectl("get", "pods", "-o", "name").split()
    steer.catch_up()
    say("Somebody kills a pod; the operator sees it and makes another:")
    kubectl("delete", pods[0], "--now")
    kubectl.wait_ready(3)
    kubectl("get", "custompods,pods")
    steer.catch_up()
    say("The author saves a file, at most two replicas from now on. The operator and its definition are new at once:")
    classes = folder / CLASSES
    classes.write_text(classes.read_text().replace("Maximum(100)", "Maximum(2)"))
    steer.wait_for("custompod is running")
    kubectl("scale", OBJECT, "--replicas=5", refused=True)
    say("One is enough after all:")
    kubectl("scale", OBJECT, "--replicas=1")
    kubectl.wait_ready(1)
    kubectl("get", OBJECT, "-o", "jsonpath={.status.podNames}")
    kubectl("events", "--for", OBJECT)
    steer.catch_up()
    say("And away with it, its pods too:")
    kubectl("delete", OBJECT, "--cascade=foreground")
    kubectl("get", "pods")
    steer.catch_up()


def main() -> None:
    """Start `steer dev` on a copy of the example, play the story, press Ctrl-C."""
    with tempfile.TemporaryDirectory(prefix="steersman-demo-") as place:
        folder = Path(place) / "custompod"
        shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        say("One terminal: a Kubernetes API, a node, and the operator of examples/custompod, started anew on a save.")
        typed("steer dev")
        steer = Steer(folder)
        try:
            story(folder, steer, Kubectl(folder))
            say("Ctrl-C ends it, and nothing is left behind:")
            code = steer.stop()
            steer.catch_up()
            print(f"exit code {code}, files left: {sum(1 for _ in folder.glob('.steer/*'))}")
        finally:
            steer.end()
    print("\nThat was Steersman. The operator is in examples/custompod; README.md says where to go on.")


if __name__ == "__main__":
    main()
