"""What tests can make go wrong with a pod on a process node: death, hanging, a lost disk, another address."""

from pathlib import Path

from steersman.errors import NotFound
from steersman.localcluster.process_node.containers.container_run import ContainerRun
from steersman.localcluster.process_node.files.directory import wipe
from steersman.localcluster.process_node.node import ProcessNode


class PodFaults:
    """Faults of one pod: ``PodFaults(node, "redis-0").kill()``. The API server is not informed: the node notices."""

    def __init__(self, node: ProcessNode, name: str, namespace: str = "default") -> None:
        self._node = node
        self._name = name
        self._namespace = namespace

    def kill(self, container: str = "") -> None:
        """Kill a container's processes at once; it is restarted by its policy."""
        self._run(container).process.signal("SIGKILL")

    def hang(self, container: str = "") -> None:
        """Stop a container's processes: connections stay open, but nothing responds."""
        self._run(container).process.signal("SIGSTOP")

    def go_on(self, container: str = "") -> None:
        """Continue the stopped processes."""
        self._run(container).process.signal("SIGCONT")

    def wipe(self, volume: str) -> None:
        """Remove everything on a volume of the pod, a claim's as well; usually `kill` comes right after it."""
        wipe(Path(self._node.pod(self._name, self._namespace).volume(volume)))

    def change_address(self) -> str:
        """Restart the whole pod under another address, and return that; a StatefulSet's pod keeps it."""
        return self._node.pod(self._name, self._namespace).change_address()

    def _run(self, container: str) -> ContainerRun:
        runs = self._node.pod(self._name, self._namespace).runs
        if container and container in runs:
            return runs[container]
        if not container and len(runs) == 1:
            return next(iter(runs.values()))
        wanted = f"container {container}" if container else "one container (name it)"
        text = f"pod {self._namespace}/{self._name}: no {wanted} among those that run: {', '.join(runs) or 'none'}"
        raise NotFound(text, code=404, reason="NotFound", kind="pods", name=self._name)
