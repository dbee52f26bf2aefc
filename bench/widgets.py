"""The measured operator and its kind, in a module that imports no more than an operator does."""

import asyncio
import time

from steersman import Context, Model, Operator, Resource, Status, custom_resource
from steersman.objects.model import sparse

WORKERS = 16


class WidgetSpec(Model):
    """The wanted state; the fields are those of the Go contender."""

    color: str = "red"
    replicas: int = 0
    notes: list[str] = sparse(list)


class WidgetStatus(Status):
    """The observed state."""

    ready: int = 0
    phase: str = ""


@custom_resource("bench.example.com/v1")
class Widget(Resource[WidgetSpec, WidgetStatus]):
    """A kind with a status."""


class Progress:
    """Counts reconciles, and records when each generation of each object was reconciled."""

    def __init__(self) -> None:
        self.done = 0
        self.wanted = 0
        self.reached = asyncio.Event()
        self.seen: dict[tuple[str, int], float] = {}

    def note(self, widget: Widget) -> None:
        """Record one reconcile."""
        self.done += 1
        self.seen[widget.name, widget.spec.replicas] = time.perf_counter()
        if self.done >= self.wanted:
            self.reached.set()

    async def wait(self, wanted: int) -> None:
        """Wait for a total number of reconciles."""
        self.wanted = wanted
        if self.done < wanted:
            self.reached.clear()
            await self.reached.wait()


def operator(progress: Progress) -> Operator:
    """Create the measured operator."""
    made = Operator("bench")

    @made.reconciler(Widget, workers=WORKERS)
    async def reconcile(widget: Widget, _: Context[Widget]) -> None:
        widget.status.ready = widget.spec.replicas
        widget.status.phase = "Ready"
        progress.note(widget)

    return made
