"""`RunRecord`: what one run did and asked for. `Context` fills it for the controller; authors do not see it."""

from collections.abc import Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar

from steersman.client.interfaces import Written
from steersman.controller.keys.key_state import WatchedSelection
from steersman.controller.recording.run_notes import RunNotes
from steersman.controller.recording.run_trace import RunTrace, name_of
from steersman.controller.recording.secret_learning import contents_of
from steersman.controller.reports.writes import Target, Write, target_of
from steersman.controller.run.environment import Caches, covers, is_secret
from steersman.controller.run.status_draft import READY
from steersman.history.records import ObjectName, Verb
from steersman.history.redaction import Redactor, SecretMemory
from steersman.informer.store import Store
from steersman.objects.codec import bytes_read
from steersman.objects.resource import KubeObject, Status

K = TypeVar("K", bound=KubeObject)


class OnWrite(Protocol):
    """Called for each write to a cached kind."""

    def __call__(self, target: Target, write: Write, store: Store, *, changed: bool) -> None:
        """Register a write, and the store of the cache that will show it.

        ``changed`` is whether the object was created or changed; false for a deletion, and if it stayed as it was.
        """


class RunRecord(Generic[K]):
    """The record of one run for one object."""

    def __init__(
        self,
        obj: K,
        caches: Caches,
        on_write: OnWrite,
        memory: SecretMemory,
        trace: RunTrace,
        *,
        notes: RunNotes | None = None,
    ) -> None:
        self.obj = obj
        #: Everything that the run reads and sends; ``None`` unless it is recorded.
        self.notes = notes
        if notes is not None:
            notes.saw([obj])
        #: Recognises the contents of Secrets that any run has read.
        self.memory = memory
        self._caches = caches
        self._on_write = on_write
        #: Seconds until the next run that the author asked for.
        self.again_after: float | None = None
        #: Objects that the author has applied or created.
        self.desired: set[Target] = set()
        #: Cached objects that the run has created or changed, in order.
        self.changed: list[Target] = []
        #: Dynamic watches that the author asked for.
        self.followed: set[WatchedSelection] = set()
        #: Whether the author has set the Ready condition.
        self.set_ready = False
        #: Whether the author has written the reconciled object, not counting its status.
        self.wrote_itself = False
        #: What the run read, wrote and reported, for the history.
        self.trace = trace
        self._secrets: list[Any] = []

    @property
    def name(self) -> ObjectName:
        """The name of the object in records."""
        return name_of(self.obj)

    @property
    def set_not_ready(self) -> bool:
        """Whether the author has set the Ready condition to anything but True: then no report replaces it."""
        own = getattr(self.obj, "status", None)
        ready = own.condition(READY) if self.set_ready and isinstance(own, Status) else None
        return ready is not None and ready.status != "True"

    # Secrets: their contents must not appear in a report.

    def saw(self, objects: Sequence[KubeObject]) -> None:
        """Register objects that the run has read or written: the Secrets among them, and all if it is recorded."""
        if self.notes is not None:
            self.notes.saw(objects)
        secrets = [obj for obj in objects if is_secret(type(obj))]
        if secrets:
            self._secrets += secrets
            self.memory.learn(value for _, value in contents_of(secrets))

    def secret_values(self) -> Iterator[tuple[str, bytes]]:
        """Return the values of the Secrets that this run has read or written, with their names."""
        return contents_of(self._secrets)

    @property
    def has_read_secrets(self) -> bool:
        """Whether the run has read or written Secrets, whose short values are masked in its own record only."""
        return bool(self._secrets)

    def redactor(self) -> Redactor | None:
        """Return what masks the contents of Secrets in texts about this run; ``None`` if the process knows none."""
        if not self.memory.has_values:
            return None
        return Redactor(self.memory, (value for _, value in self.secret_values()), about=self.name)

    def mask(self, text: str) -> str:
        """Return a text without the contents of Secrets."""
        redactor = self.redactor()
        return text if redactor is None else redactor.text(text)

    # Writes: the key is held back until the caches show them.

    def wrote(self, obj: KubeObject, *, before: str, data: bytes | None = None, verb: Verb = Verb.CHANGED) -> None:
        """Register an object that was written, with the version and the content that it had before."""
        changed, target = before != obj.resource_version, target_of(obj)
        self.trace.wrote(verb if changed else Verb.UNCHANGED, obj, target.key, before=data)
        self._register(obj, target, Write(obj.uid, obj.resource_version), changed=changed)

    def wrote_own(self, obj: KubeObject) -> None:
        """Register a write of the reconciled object."""
        self.wrote(obj, before=self.obj.resource_version, data=bytes_read(self.obj))

    def wrote_status(self, written: Written, before: bytes, after: bytes) -> None:
        """Register a write of the status of the reconciled object, with what it was and is as JSON."""
        self.trace.wrote_status(written.resource_version, before, after)
        informer = self._caches.find(type(self.obj))
        if informer is not None and covers(informer, self.obj.namespace, written.labels or {}):
            changed = written.resource_version != self.obj.resource_version
            write = Write(written.uid, written.resource_version)
            self._pass_on(target_of(self.obj), write, informer.store, changed=changed)

    def deleted(self, obj: KubeObject) -> None:
        """Register that an object was deleted, or is being deleted."""
        target = target_of(obj)
        self.trace.wrote(Verb.DELETED, obj, target.key)
        self._register(obj, target, Write(obj.uid, ""), changed=False)

    def ended(self) -> None:
        """Register that the reconciled object does not exist any more."""
        self._register(self.obj, target_of(self.obj), Write(self.obj.uid, "", is_end=True), changed=False)

    def _register(self, obj: KubeObject, target: Target, write: Write, *, changed: bool) -> None:
        informer = self._caches.find(type(obj))
        if informer is not None and covers(informer, obj.namespace, obj.labels):
            self._pass_on(target, write, informer.store, changed=changed)

    def _pass_on(self, target: Target, write: Write, store: Store, *, changed: bool) -> None:
        if changed:
            self.changed.append(target)
        self._on_write(target, write, store, changed=changed)
