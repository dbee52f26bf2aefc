"""What one run of a reconciler did and asked for: `Context` notes it for the controller, and authors do not see it."""

from collections.abc import Iterable, Iterator
from typing import Any, Generic, Protocol, TypeVar

from steersman.client.interfaces import Written
from steersman.controller.keys.dynamic_watches import Followed
from steersman.controller.keys.expectations import Target, Write
from steersman.controller.run.environment import Caches, covers, is_secret
from steersman.controller.run.status_draft import READY
from steersman.informer.informer import Informer
from steersman.objects.resource import KubeObject, Status, gvk_of

K = TypeVar("K", bound=KubeObject)


class OnWrite(Protocol):
    """Called for each write."""

    def __call__(self, target: Target, write: Write, informer: Informer[Any], *, changed: bool) -> None:
        """Register an object that was written, the version that it has now, and the replica that will show it.

        ``changed`` is whether the object was created or changed, and not deleted or left as it was.
        """


def target_of(obj: KubeObject) -> Target:
    """Return what an object is in the books of the controller."""
    return Target(gvk_of(obj), obj.key)


class RunRecord(Generic[K]):
    """The record of one run for one object."""

    def __init__(self, obj: K, caches: Caches, on_write: OnWrite) -> None:
        self.obj = obj
        self._caches = caches
        self._on_write = on_write
        #: Seconds after which the author asked for another run.
        self.again_after: float | None = None
        #: Objects that the author has applied or created.
        self.desired: set[Target] = set()
        #: Kinds that the author follows beyond the declared ones.
        self.followed: set[Followed] = set()
        #: Whether the author has set the Ready condition.
        self.said_ready = False
        #: Whether the author has written the reconciled object beside its status.
        self.wrote_itself = False
        self._secrets: list[Any] = []

    @property
    def said_not_ready(self) -> bool:
        """Whether the author has set the Ready condition, and not to True: no report says it better."""
        own = getattr(self.obj, "status", None)
        ready = own.condition(READY) if self.said_ready and isinstance(own, Status) else None
        return ready is not None and ready.status != "True"

    # Secrets: what they hold must not appear in a report.

    def saw(self, objects: Iterable[KubeObject]) -> None:
        """Remember those of the objects that are Secrets, read or written."""
        self._secrets += [obj for obj in objects if is_secret(type(obj))]

    def secrets(self) -> Iterator[bytes]:
        """Yield the contents of the Secrets that this run has read or written."""
        for secret in self._secrets:
            yield from (secret.data or {}).values()
            yield from (text.encode() for text in (secret.string_data or {}).values())

    # Writes: the key is held back until the caches show them.

    def wrote(self, obj: KubeObject, *, before: str) -> None:
        """Register an object that was written, with the version that it had before."""
        changed = before != obj.resource_version
        self._register(obj, Write(obj.uid, obj.resource_version), changed=changed)

    def wrote_own(self, obj: KubeObject) -> None:
        """Register a write of the reconciled object."""
        self.wrote(obj, before=self.obj.resource_version)

    def wrote_status(self, written: Written) -> None:
        """Register a write of the status of the reconciled object."""
        informer = self._caches.find(type(self.obj))
        if informer is not None and covers(informer, self.obj.namespace, written.labels or {}):
            changed = written.resource_version != self.obj.resource_version
            write = Write(written.uid, written.resource_version)
            self._on_write(target_of(self.obj), write, informer, changed=changed)

    def deleted(self, obj: KubeObject) -> None:
        """Register that an object was deleted, or is being deleted."""
        self._register(obj, Write(obj.uid, ""), changed=False)

    def ended(self) -> None:
        """Register that the reconciled object is gone."""
        self._register(self.obj, Write(self.obj.uid, "", is_end=True), changed=False)

    def _register(self, obj: KubeObject, write: Write, *, changed: bool) -> None:
        informer = self._caches.find(type(obj))
        if informer is not None and covers(informer, obj.namespace, obj.labels):
            self._on_write(target_of(obj), write, informer, changed=changed)
