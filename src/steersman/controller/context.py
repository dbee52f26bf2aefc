"""`Context`: what the author's function gets besides the object: reading, writing, reporting, and why it runs.

Kinds that the controller watches are read from its caches, all others from the server. Every write is registered, so
that the key is not reconciled again before the caches show it.
"""

import asyncio
import builtins
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, MutableMapping
from copy import copy
from datetime import datetime
from typing import Any, Generic, TypeVar

from steersman.client.client import Client
from steersman.controller.keys.key_state import ChangeHandler
from steersman.controller.options import EventKind
from steersman.controller.readiness import Readiness, readiness
from steersman.controller.reports.causes import Cause
from steersman.controller.reports.writes import Target, target_of
from steersman.controller.run.claims import CREATE_ONLY, Claimant, is_outdated
from steersman.controller.run.environment import ReconcileEnvironment, covers
from steersman.controller.run.external_writes import ExternalWriter
from steersman.controller.run.run_record import RunRecord
from steersman.controller.run.status_draft import READY
from steersman.errors import Conflict, Invalid, NotReady, SteersmanError
from steersman.history.records import Verb
from steersman.informer.index import BY_CONTROLLER
from steersman.informer.informer import EVERYTHING, Informer, Selection
from steersman.informer.reader import as_selector
from steersman.informer.record import Record
from steersman.json_types import JsonObject
from steersman.objects.codec import bytes_read, decode, decode_json, encode
from steersman.objects.identity import ApiResource, ObjectKey
from steersman.objects.resource import KubeObject, PartialObjectMetadata, Status, resource_of
from steersman.objects.selectors import LabelSelector
from steersman.protocol.options import Preconditions
from steersman.transport.services import HttpService

K = TypeVar("K", bound=KubeObject)
C = TypeVar("C", bound=KubeObject)
T = TypeVar("T")


#: Attempts of an apply whose object keeps changing between the read and the write.
_CLAIM_TRIES = 4
_controller_log = logging.getLogger("steersman.controller")


class ContextLog(logging.LoggerAdapter[logging.Logger]):
    """Add the reconciled object to every line."""

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        """Merge the fields of this run with those of the line."""
        kwargs["extra"] = {**(self.extra or {}), **kwargs.get("extra", {})}
        return msg, kwargs


class _Unknown:
    """The answer of a cache that cannot say."""


def _with_metadata(intent: C, record: Record) -> C:
    """Return an applied object of which only the metadata is cached: what was applied, with the server's metadata."""
    applied = copy(intent)
    applied.metadata = decode(PartialObjectMetadata, record.data).metadata
    return applied


class Context(Generic[K]):
    """One run of a reconciler for one object."""

    def __init__(
        self, run: RunRecord[K], environment: ReconcileEnvironment, *, why: tuple[Cause, ...], fields: JsonObject
    ) -> None:
        self._obj = run.obj
        self._run = run
        self._environment = environment
        self._options = environment.options
        self._client = environment.options.client
        self._why = why
        self._fields = fields
        self._log: ContextLog | None = None
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    # About the run.

    @property
    def why(self) -> tuple[Cause, ...]:
        """Causes of this run."""
        return self._why

    @property
    def cluster(self) -> str:
        """Name of the cluster of the object: that of its context, or what a provider of clusters calls it."""
        return self._options.cluster

    @property
    def log(self) -> ContextLog:
        """Logger that adds controller, kind, key and the number of this run to every line."""
        if self._log is None:
            self._log = ContextLog(_controller_log, self._fields)
        return self._log

    @property
    def client(self) -> Client:
        """Client for verbs that `Context` does not have. The caches are not waited for after its writes."""
        return self._client

    def now(self) -> datetime:
        """Return the current time in UTC, by the operator's clock."""
        return self._options.clock.now()

    # Reading.

    async def get(self, kind: type[C], name: str, namespace: str | None = None) -> C | None:
        """Return an object by name, by default in the namespace of the reconciled one; ``None`` if there is none.

        It comes from the cache if that shows it whole, else from the API server. Of a kind of which only the metadata
        is cached, the content is read once for each version that the cache shows.
        """
        key = self._key_for(kind, name, namespace)
        informer = self._environment.caches.find(kind)
        cached = _Unknown() if informer is None else self._look_up(informer, kind, key)
        if isinstance(cached, _Unknown):
            informer = None
            found = await self._run.trace.request(self._client.try_get(kind, key.name, key.namespace or None))
            self._keep_content(kind, found)
        else:
            found = cached
        self._run.trace.read_object(kind, key, found, informer)
        if found is not None:
            self._run.saw([found])
        return found

    async def get_metadata(
        self, kind: type[KubeObject], name: str, namespace: str | None = None
    ) -> PartialObjectMetadata | None:
        """Return the metadata of an object by name; a cache of metadata is enough for that."""
        key = self._key_for(kind, name, namespace)
        caches = self._environment.caches
        informer = caches.complete(kind, key.namespace)
        if informer is None and (selective := caches.find(kind)) is not None and key in selective:
            informer = selective
        if informer is not None:
            found = informer.get_metadata(key)
        else:
            request = self._client.try_get_metadata(kind, key.name, key.namespace or None)
            found = await self._run.trace.request(request)
        self._run.trace.read_object(kind, key, found, informer)
        return found

    async def list(
        self,
        kind: type[C],
        selector: LabelSelector | str | None = None,
        *,
        namespace: str | None = None,
        field_selector: str = "",
    ) -> builtins.list[C]:
        """Return objects by labels, by default in the namespace of the reconciled one; ``""`` means all namespaces.

        They come from the cache if that has all of them whole, else from the API server.
        """
        place = self._place_for(kind, namespace)
        wanted = as_selector(selector) or LabelSelector()
        informer = self._environment.caches.find(kind)
        if (
            informer is not None
            and not informer.selection.metadata_only
            and self._has_all(informer, place, wanted, field_selector)
        ):
            found = informer.list(wanted, namespace=place or None)
        else:
            informer = None
            self._environment.caches.hint(kind)
            selectors = {"label_selector": str(wanted), "field_selector": field_selector}
            found = await self._run.trace.request(_listed(self._client.list(kind, namespace=place, **selectors)))
        self._run.trace.read_list(kind, len(found), informer)
        self._run.saw(found)
        return found

    async def list_metadata(
        self,
        kind: type[KubeObject],
        selector: LabelSelector | str | None = None,
        *,
        namespace: str | None = None,
        field_selector: str = "",
    ) -> builtins.list[PartialObjectMetadata]:
        """Return the metadata of objects, like ``list``; a cache of metadata is enough for that."""
        place = self._place_for(kind, namespace)
        wanted = as_selector(selector) or LabelSelector()
        caches = self._environment.caches
        informer = caches.complete(kind, place)
        if informer is None:
            informer = caches.find(kind)
        if informer is not None and self._has_all(informer, place, wanted, field_selector):
            found = informer.list_metadata(wanted, namespace=place or None)
        else:
            informer = None
            selectors = {"label_selector": str(wanted), "field_selector": field_selector}
            listed = self._client.list_metadata(kind, namespace=place, **selectors)
            found = await self._run.trace.request(_listed(listed))
        self._run.trace.read_list(kind, len(found), informer)
        return found

    def owned(self, kind: type[C]) -> builtins.list[C]:
        """Return the objects of an owned kind that the reconciled one controls, by its uid, from the cache."""
        informer = self._owned_cache(kind, whole=True)
        found = [*informer.by_index(BY_CONTROLLER, self._obj.uid)]
        self._run.trace.read_list(kind, len(found), informer)
        self._run.saw(found)
        return found

    def owned_metadata(self, kind: type[KubeObject]) -> builtins.list[PartialObjectMetadata]:
        """Return the metadata of the objects of an owned kind that the reconciled one controls, from the cache."""
        informer = self._owned_cache(kind, whole=False)
        found = [*informer.metadata_by_index(BY_CONTROLLER, self._obj.uid)]
        self._run.trace.read_list(kind, len(found), informer)
        return found

    def orphans(self, kind: type[C], selector: LabelSelector) -> builtins.list[C]:
        """Return the objects of a watched kind in the same namespace that match and have no controller."""
        informer = self._owned_cache(kind, whole=True)
        found = [*informer.uncontrolled(selector, namespace=self._obj.namespace or None)]
        self._run.saw(found)
        return found

    # Writing.

    async def apply(self, obj: C, *, owned: bool = True, adopt: bool = False, force: bool = True) -> C:
        """Apply an object on the server as this operator's full intent, by default with an owner reference.

        Nothing is sent if the same intent was applied last and the object has not changed since.

        An existing object is written only if it is this operator's own: controlled by the reconciled object, or without
        a controller and applied by this operator before. Any other raises ``AlreadyOwned``, which becomes a condition
        and an event unless the author catches it. ``adopt`` takes over an object without a controller, such as one that
        a user created; an object with another controller is never taken. ``force`` overwrites fields that other
        managers have set; without it they raise a ``Conflict`` that names them.
        """
        intent = self._prepared(obj, owned=owned)
        target = target_of(intent)
        self._run.desired.add(target)
        data = encode(intent)
        before = ""
        record: Record | None = None
        informer = self._environment.caches.find(type(obj))
        if informer is not None and (record := informer.store.get(target.key)) is not None:
            before = record.resource_version
            is_current = self._environment.applied.is_current(target, data, before)
            if self._run.notes is not None and (is_current or not record.is_metadata_only):
                # Of metadata alone an object cannot be rebuilt; what was applied last is close to it.
                self._run.notes.had(informer.resource, target.key, data if record.is_metadata_only else record.data)
            if is_current:
                return _with_metadata(intent, record) if record.is_metadata_only else informer.decode(record)
        applied_for = self._obj.uid if owned else ""
        claimant = Claimant(self._obj, self._client.field_manager, owned, adopt)
        claim = self._known_claim(claimant, target, intent, record, applied_for)
        applied = await self._send(intent, self._apply_claimed(claimant, intent, claim, force=force))
        self._environment.applied.remember(
            target, data, version=applied.resource_version, uid=applied.uid, owner=applied_for
        )
        is_known = informer is not None and covers(informer, intent.namespace, intent.labels)
        verb = Verb.CHANGED if before else Verb.CREATED if is_known else Verb.APPLIED
        known = None if record is None or record.is_metadata_only else record.data
        self._run.wrote(applied, before=before, data=known, verb=verb)
        return applied

    def _known_claim(
        self, claimant: Claimant, target: Target, intent: KubeObject, record: Record | None, applied_for: str
    ) -> Preconditions | None:
        """Return the preconditions of an apply if they are known without reading from the server."""
        if target == target_of(self._obj):
            # The reconciled object is not a child: it may get fields of ours, even if a user created it.
            return Preconditions(uid=self._obj.uid)
        if record is not None and (claim := claimant.claim_cached(intent, record)) is not None:
            return claim
        informer = self._environment.caches.find(type(intent))
        if record is None and informer is not None and covers(informer, intent.namespace, intent.labels):
            return CREATE_ONLY
        # An object that this process applied is its own as long as nothing else has changed it.
        return self._environment.applied.claim(target, applied_for)

    async def _apply_claimed(self, claimant: Claimant, intent: C, claim: Preconditions | None, *, force: bool) -> C:
        """Apply an object if it is ours; read it from the server if nothing is known, or if the server disagrees."""
        client = self._client
        looked = False
        for tries_left in reversed(range(_CLAIM_TRIES)):
            if claim is None:
                live = await client.try_get_metadata(type(intent), intent.name, intent.namespace or None)
                claim, looked = claimant.claim_live(intent, live), True
            try:
                return await client.apply(intent, force=force, preconditions=claim)
            except (Conflict, Invalid) as error:
                if not tries_left or not is_outdated(error, looked=looked):
                    raise
                claim = None
        raise AssertionError("the last attempt returns or raises")

    async def create(self, obj: C, *, owned: bool = True) -> C:
        """Create an object, by default with an owner reference."""
        prepared = self._prepared(obj, owned=owned)
        created = await self._send(prepared, self._client.create(prepared))
        self._run.desired.add(target_of(created))
        self._run.wrote(created, before="", verb=Verb.CREATED)
        return created

    async def update(self, obj: C) -> C:
        """Send what changed in an object since it was read."""
        self._run.wrote_itself = self._run.wrote_itself or obj is self._obj
        updated = await self._send(obj, self._client.update(obj))
        self._run.wrote(updated, before=obj.resource_version, data=bytes_read(obj))
        return updated

    async def patch(self, obj: C, patch: JsonObject, *, status: bool = False) -> C:
        """Patch an object by a JSON merge patch; with ``status`` its status subresource.

        The status of the reconciled object is written after the run: set its fields instead.
        """
        self._run.wrote_itself = self._run.wrote_itself or obj is self._obj
        client = self._client
        patched = await self._send(obj, client.status.patch(obj, patch) if status else client.patch(obj, patch))
        self._run.wrote(patched, before=obj.resource_version, data=bytes_read(obj))
        return patched

    async def delete(self, obj: KubeObject) -> None:
        """Delete an object; a deleted one is not an error, and a later object of the same name is not touched."""
        await self._send(obj, self._client.delete(obj, missing_ok=True))
        self._run.deleted(obj)

    async def prune(self, *kinds: type[KubeObject]) -> builtins.list[ObjectKey]:
        """Delete the owned objects of these kinds that this run has neither applied nor created; return their keys."""
        pruned = []
        for kind in kinds:
            whole = not self._owned_cache(kind, whole=False).selection.metadata_only
            for child in self.owned(kind) if whole else self.owned_metadata(kind):
                target = Target(resource_of(kind).gvk, child.key)
                if target in self._run.desired or child.is_deleting:
                    continue
                live = child if whole else await self.get(kind, child.name, child.namespace)
                if live is not None and live.uid == child.uid:
                    await self.delete(live)
                    pruned.append(child.key)
        return pruned

    # Reporting.

    def condition(self, type_: str, status: bool | None, reason: str, message: str = "") -> bool:
        """Set a condition of the reconciled object for its current generation; return whether anything changed."""
        own = getattr(self._obj, "status", None)
        if not isinstance(own, Status):
            raise TypeError(f"the status of {type(self._obj).__name__} has no conditions: derive it from Status")
        if type_ == READY:
            self._run.set_ready = True
        now = self._options.clock.now().replace(microsecond=0)
        return own.set_condition(type_, status, reason, message, now=now, generation=self._obj.generation)

    def event(self, reason: str, message: str, *, kind: EventKind = "Normal") -> None:
        """Record a Kubernetes event about the reconciled object; never blocks and never raises."""
        self._run.trace.event(kind, reason, message)
        self._on_loop(lambda: self._options.events.record(self._obj, kind, reason, message))

    async def ready(self, *children: KubeObject, condition: str = "") -> None:
        """Continue if these objects are ready, such as the results of ``apply``; else end this run until one changes.

        Waiting is the usual course of things: it sets Ready=False, but records no event, and counts as no failure. Each
        kind has its own rule, such as all replicas available or a completed Job; ``condition`` names a condition to
        look at instead. Raises ``NotReady``, which becomes the outcome of the run.
        """
        for child in children:
            known = await self._as_on_the_server(child)
            if known is None:
                state = Readiness(is_ready=False, message="does not exist yet")
            else:
                has_conditions = isinstance(getattr(known, "status", None), Status)
                state = readiness(decode_json(encode(known)), condition=condition, has_conditions=has_conditions)
            if not state.is_ready:
                version = "" if known is None else known.resource_version
                key = self._key_for(type(child), child.name, child.namespace or None)
                raise NotReady(state.message, kind=type(child), name=key.name, namespace=key.namespace, version=version)

    def requeue_after(self, seconds: float) -> None:
        """Run again after this many seconds if this run succeeds, even if nothing changes; the shortest call counts."""
        if seconds <= 0:
            raise ValueError(f"requeue_after needs a positive number of seconds, got {seconds}")
        known = self._run.again_after
        self._run.again_after = seconds if known is None else min(known, seconds)

    def waker(self) -> Callable[[], None]:
        """Return a function that requests another run of this object, at any later time and from any thread.

        It is for events from outside Kubernetes, and for handlers of ``follow``.
        """
        key, wake = self._obj.key, self._environment.wake
        return lambda: self._on_loop(lambda: wake(key))

    def memory(self, make: Callable[[], T]) -> T:
        """Return a value that is kept for this object as long as it exists and the operator runs.

        ``make`` creates it on first use. It is lost at a restart, so it must be possible to compute it again.
        """
        return self._environment.states.of(self._obj.key).remember(self._obj.uid, make)

    # Beyond the declared kinds, and beyond the cluster.

    def follow(
        self, resource: ApiResource, on_change: ChangeHandler, selection: Selection = EVERYTHING
    ) -> Informer[Any]:
        """Watch a kind that is known only at run time, call a function with every change, and return the cache.

        The function is called first with the existing objects, marked as initial. Call ``follow`` in every run: a watch
        that a successful run did not ask for ends, and all of them end with the object. ``client.discovery`` finds the
        resource. A selection without namespaces means those that the operator is limited to.
        """
        self._run.followed.add((resource.gvk, selection))
        state = self._environment.states.of(self._obj.key)
        return self._environment.watches.follow(state, resource, selection, on_change)

    def http(self, url: str) -> HttpService:
        """Return an HTTP service by its URL; connections are kept as long as the operator runs.

        Requests other than GET, HEAD and OPTIONS raise ``LeadershipLost`` unless this process leads.
        """
        return self._options.services.at(url, fence=self._options.fence)

    async def external_write(
        self, system: str, description: str, write: Callable[[], Awaitable[T]], *, planned: T | None = None
    ) -> T:
        """Carry out a write to another system, such as a database, and return what ``write`` returns.

        Raises ``LeadershipLost``, without calling ``write``, if this process does not lead any more. The write is
        counted, logged and recorded by ``system`` and ``description``, which must not contain secrets. A plan
        (``steer plan``) lists the write without making it, and returns ``planned`` instead.
        """
        ended = self._run.trace.external_write
        writes = self._environment.external_writes
        return await writes.run(system, description, write, planned=planned, log=self.log, on_ended=ended)

    def external_writer(self, system: str) -> ExternalWriter:
        """Return a function that carries out writes to one system, for a client that knows nothing of contexts."""

        async def write(description: str, work: Callable[[], Awaitable[T]], /) -> T:
            return await self.external_write(system, description, work)

        return write

    def wait(self, awaitable: Coroutine[Any, Any, T]) -> T:
        """Wait in a plain ``def`` reconciler for the result of an async method: ``ctx.wait(ctx.apply(obj))``."""
        if threading.get_ident() == self._thread:
            awaitable.close()
            raise RuntimeError("ctx.wait is for plain functions: use await in an async one")
        return asyncio.run_coroutine_threadsafe(awaitable, self._loop).result()

    # Internals.

    async def _send(self, obj: KubeObject, request: Awaitable[T]) -> T:
        """Wait for a write; note it if it fails."""
        trace = self._run.trace
        sent = trace.clock.monotonic()
        try:
            answer = await request
        except SteersmanError as error:
            trace.answered(sent)
            trace.failed(obj, error)
            raise
        trace.answered(sent)
        return answer

    def _on_loop(self, call: Callable[[], None]) -> None:
        if threading.get_ident() == self._thread:
            call()
        else:
            self._loop.call_soon_threadsafe(call)

    def _key_for(self, kind: type[KubeObject], name: str, namespace: str | None) -> ObjectKey:
        if not resource_of(kind).namespaced:
            return ObjectKey("", name)
        return ObjectKey(self._obj.namespace if namespace is None else namespace, name)

    async def _as_on_the_server(self, child: C) -> C | None:
        """Return a child with its status: itself if a server sent it whole, else what is read now.

        A content that was read earlier may be older than the child: its status would be that of another generation.
        """
        informer = self._environment.caches.find(type(child))
        is_whole = informer is None or not informer.selection.metadata_only
        if child.resource_version and is_whole:
            return child
        if is_whole:
            return await self.get(type(child), child.name, child.namespace or None)
        key = self._key_for(type(child), child.name, child.namespace or None)
        return await self._run.trace.request(self._client.try_get(type(child), key.name, key.namespace or None))

    def _look_up(self, informer: Informer[C], kind: type[C], key: ObjectKey) -> "C | _Unknown | None":
        """Return what the cache says about an object: the object, that it does not exist, or that it cannot say."""
        if not informer.covers_namespace(key.namespace):
            return _Unknown()
        record = informer.store.get(key)
        if record is None:
            # A cache with a selector proves that its objects exist, but not that others do not exist.
            return _Unknown() if informer.is_selective else None
        if not informer.selection.metadata_only:
            return informer.decode(record)
        content = self._environment.contents.find(Target(resource_of(kind).gvk, key), record)
        return _Unknown() if content is None else decode(kind, content)

    def _keep_content(self, kind: type[KubeObject], found: KubeObject | None) -> None:
        """Keep a content that was read because only metadata is cached."""
        informer = self._environment.caches.find(kind)
        if found is None or informer is None or not informer.selection.metadata_only:
            return
        self._environment.caches.hint(kind)
        data = bytes_read(found)
        if data is not None:
            self._environment.contents.remember(target_of(found), found.uid, found.resource_version, data)

    def _place_for(self, kind: type[KubeObject], namespace: str | None) -> str:
        """Return the namespace to list; empty for all of them, and for cluster-scoped kinds."""
        if not resource_of(kind).namespaced:
            return ""
        return self._obj.namespace if namespace is None else namespace

    def _has_all(self, informer: Informer[Any], place: str, wanted: LabelSelector, field_selector: str) -> bool:
        """Return whether a cache has every object that a list asks for, whole or not."""
        selection = informer.selection
        # Fields are selected by the API server alone: what is cached cannot be compared with another selector.
        if field_selector != selection.field_selector:
            return False
        if not set(informer.label_selector.requirements) <= set(wanted.requirements):
            return False
        return informer.covers_namespace(place) or (not place and selection.namespaces == self._options.namespaces)

    def _owned_cache(self, kind: type[C], *, whole: bool) -> Informer[C]:
        informer = self._environment.caches.owned(kind)
        if informer is None:
            raise LookupError(f"{kind.__name__} is not watched: declare it with owns=[{kind.__name__}]")
        if whole and informer.selection.metadata_only:
            raise LookupError(
                f"{kind.__name__} is cached without content: use ctx.owned_metadata, or remove metadata_only"
            )
        return informer

    def _prepared(self, obj: C, *, owned: bool) -> C:
        """Return a copy with the default namespace and owner; the author's object is not changed."""
        self._run.saw([obj])
        prepared = copy(obj)
        prepared.metadata = copy(obj.metadata)
        if resource_of(type(obj)).namespaced and not obj.namespace:
            prepared.metadata.namespace = self._obj.namespace or None
        if owned:
            if self._obj.namespace and prepared.namespace != self._obj.namespace:
                raise ValueError(
                    f"{self._obj!r} cannot own {prepared!r}: an owner is cluster-scoped or in the same namespace; "
                    f"pass owned=False"
                )
            if labels := self._environment.owned_labels.get(type(obj)):
                prepared.metadata.labels = {**prepared.metadata.labels, **labels}
            reference = self._obj.owner_reference()
            others = [owner for owner in obj.metadata.owner_references if owner.uid != reference.uid]
            prepared.metadata.owner_references = [*others, reference]
        return prepared

    def __repr__(self) -> str:
        return f"<Context of {self._obj!r} why={[str(cause) for cause in self._why]}>"


async def _listed(objects: AsyncIterator[T]) -> list[T]:
    return [obj async for obj in objects]
