"""`make demo`: a custom resource, its operator and a Kubernetes cluster, with nothing but Python and real kubectl.

It shows a CustomPod in `steer dev`: one replica, three, a killed pod, one again, a save that changes
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
#: Seconds to wait for any step.
PATIENCE = 30.0
IS_COLOURED = sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def paint(text: str, code: str) -> str:
    """Return the text in colour if the output is a terminal."""
    return f"\033[{code}m{text}\033[0m" if IS_COLOURED else text


def heading(text: str) -> None:
    """Print a heading."""
    print(f"\n{paint(f'# {text}', '36')}", flush=True)


def typed(command: str) -> None:
    """Print a command as a user would type it."""
    print(paint(f"$ {command}", "1"), flush=True)


class Steer:
    """A running `steer dev`, whose lines are printed during the demo."""

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
        """Print its lines until one contains a text."""
        line = ""
        while text not in line:
            try:
                line = self._lines.get(timeout=PATIENCE)
            except queue.Empty:
                sys.exit(f"demo: steer dev did not print {text!r}")
            self._show(line)

    def catch_up(self) -> None:
        """Print the lines since the last call."""
        while not self._lines.empty():
            self._show(self._lines.get())

    @staticmethod
    def _show(line: str) -> None:
        print(paint(f"  | {line}", "2"), flush=True)

    def stop(self) -> int:
        """Stop it as Ctrl-C does."""
        self._process.send_signal(signal.SIGINT)
        return self._process.wait(PATIENCE)

    def end(self) -> None:
        """Kill it if it still runs."""
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait(PATIENCE)


class Kubectl:
    """The kubectl of this environment, connected to the cluster of `steer dev`."""

    def __init__(self, folder: Path) -> None:
        here = Path(sysconfig.get_path("scripts")) / "kubectl"
        self._program = str(here) if here.exists() else "kubectl"
        path = os.environ.get("PATH", "")
        self._environment = {"PATH": path, "HOME": str(folder), "KUBECONFIG": str(folder / ".steer/kubeconfig")}
        self._folder = folder

    def __call__(self, *arguments: str, refused: bool = False) -> str:
        """Run and print a command; exit if it fails, unless a rejection is expected."""
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
        """Wait until a number of pods is ready."""
        self("wait", OBJECT, f"--for=jsonpath={{.status.readyReplicas}}={replicas}", f"--timeout={PATIENCE:.0f}s")


def story(folder: Path, steer: Steer, kubectl: Kubectl) -> None:
    """Run the steps of the demo."""
    steer.wait_for("custompod is running")
    heading("The CRD is derived from the Python class; it is installed already:")
    kubectl("explain", "custompod.spec")
    heading("One object asks for one pod:")
    kubectl("apply", "-f", "samples")
    kubectl.wait_ready(1)
    steer.catch_up()
    heading("Scale it to three:")
    kubectl("scale", OBJECT, "--replicas=3")
    kubectl.wait_ready(3)
    pods = kubectl("get", "pods", "-o", "name").split()
    steer.catch_up()
    heading("A pod is deleted; the operator replaces it:")
    kubectl("delete", pods[0], "--now")
    kubectl.wait_ready(3)
    kubectl("get", "custompods,pods")
    steer.catch_up()
    heading("The author saves a file that allows at most two replicas. The operator restarts, and its CRD is updated:")
    classes = folder / CLASSES
    classes.write_text(classes.read_text().replace("Maximum(100)", "Maximum(2)"))
    steer.wait_for("custompod is running")
    kubectl("scale", OBJECT, "--replicas=5", refused=True)
    heading("Scale it to one:")
    kubectl("scale", OBJECT, "--replicas=1")
    kubectl.wait_ready(1)
    kubectl("get", OBJECT, "-o", "jsonpath={.status.podNames}")
    kubectl("events", "--for", OBJECT)
    steer.catch_up()
    heading("Delete it; its pods are deleted, too:")
    kubectl("delete", OBJECT, "--cascade=foreground")
    kubectl("get", "pods")
    steer.catch_up()


def main() -> None:
    """Start `steer dev` on a copy of the example, run the demo, and stop it with Ctrl-C."""
    with tempfile.TemporaryDirectory(prefix="steersman-demo-") as place:
        folder = Path(place) / "custompod"
        shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        heading(
            "One terminal: a Kubernetes API, a node, and the operator of examples/custompod, restarted on every save."
        )
        typed("steer dev")
        steer = Steer(folder)
        try:
            story(folder, steer, Kubectl(folder))
            heading("Ctrl-C stops it, and nothing is left behind:")
            code = steer.stop()
            steer.catch_up()
            print(f"exit code {code}, files left: {sum(1 for _ in folder.glob('.steer/*'))}")
        finally:
            steer.end()
    print("\nThat was Steersman. The operator is in examples/custompod; README.md lists the guides.")


if __name__ == "__main__":
    main()
