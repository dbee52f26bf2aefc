"""`BackgroundControllers`: the controllers that run inside the server."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from steersman.apiserver.background.garbage import GarbageCollector
from steersman.apiserver.background.internal_client import InternalClient
from steersman.apiserver.background.namespace_defaults import NamespaceDefaults
from steersman.apiserver.background.namespaces import NamespaceCleaner
from steersman.apiserver.background.quotas import QuotaCounter
from steersman.apiserver.background.tasks import BackgroundTasks
from steersman.apiserver.background.tokens import TokenCleaner
from steersman.apiserver.storage.history import Event


class BackgroundController(Protocol):
    """One controller: it looks at all objects once, and from then on at every write."""

    def start(self) -> None:
        """Check all objects."""

    def observe(self, event: Event) -> None:
        """Note a write; it is handled in a task of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerOptions:
    """Options of the controllers that a kube-controller-manager runs in a real cluster."""

    #: The PEM certificate of the server's authority, published in every namespace; without one nothing is published.
    root_certificate: bytes | None = None


def manager_controllers(
    client: InternalClient, tasks: BackgroundTasks, options: ControllerOptions
) -> tuple[BackgroundController, ...]:
    """Return what a kube-controller-manager does for the objects of the API itself."""
    return (
        NamespaceCleaner(client, tasks),
        NamespaceDefaults(client, tasks, root_certificate=options.root_certificate),
        TokenCleaner(client, tasks),
        QuotaCounter(client, tasks),
        GarbageCollector(client, tasks),
    )


class BackgroundControllers:
    """Passes every write to all controllers, and runs their tasks."""

    def __init__(self, controllers: Iterable[BackgroundController], tasks: BackgroundTasks) -> None:
        self._controllers = tuple(controllers)
        self._tasks = tasks

    @property
    def is_idle(self) -> bool:
        """Whether no task is waiting."""
        return not self._tasks

    def start(self) -> None:
        """Check all objects, and run all tasks that follow from them before any request is served."""
        self._tasks.clear()
        for controller in self._controllers:
            controller.start()
        self._tasks.run()

    def observe(self, event: Event) -> None:
        """Note a write; the tasks that follow from it run in the next turn of the event loop."""
        for controller in self._controllers:
            controller.observe(event)
