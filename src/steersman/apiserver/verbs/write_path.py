"""The write path: how a create, an update, a patch or an apply becomes a stored object.

Every write goes through the same stages. A stage is a method of `ObjectWriter` that takes one value and returns the
next; the types of the values are the order of the stages, so a step in the wrong place does not type-check:

    create   body ─────────────────────────────► Decoded ───┐
    update   body ─────────────────────────────► Decoded ───┤
    patch    live object + patch ─► merged ────► Decoded ───┤   propose   namespace, name, preconditions, live object
    apply    live object + body ──► merged ────► Decoded ───┤
    scale    live object + body ──► merged ────► Decoded ───┤   (these two merges have computed the owners already)
                                                            ▼
                                                         Proposed
                                                            │   own       managedFields (apply and scale have them)
                                                            ▼
                                                          Owned
                                                            │   admit     mutating webhooks; then permissions that
                                                            ▼             depend on the content (RBAC escalation)
                                                         Admitted
                                                            │   prepare   name, uid and times of a new object; what an
                                                            ▼             update cannot change; the kind's own fields
                                                         Prepared
                                                            │   validate  the rules of the kind
                                                            ▼
                                                        Validated
                                                            │   approve   admission policies, then validating webhooks
                                                            ▼
                                                         Approved
                                                            │   commit    conflict checks, size, then the store;
                                                            ▼             nothing is stored for a dry run
                                                        Committed

    delete   options ─► Deletion ─► AdmittedDeletion ─► Deleted     (``delete.py``: the object is not proposed by a
                                                                    client, so there is nothing to own or validate)

Where to add a step. Something that *changes* objects on behalf of the cluster belongs into `_admit`. Something that
*rejects* objects and must see them as they will be stored belongs into `_approve`. A rule about one kind belongs into
the strategy of that kind, which `_prepare` and `_validate` call.

Why this order. It is kube-apiserver's:

* Decoding fills in defaults: Kubernetes' codec does both, so both are one stage, `Decoded`. A patch is merged first and
  decoded then, so that the defaults of the patched object are filled in. An apply is merged together with its owners,
  decoded after that, and passes `_own` unchanged (`Decoded.is_merged`).
* Owners are computed *before* mutating webhooks run (the handler calls its ``FieldManager`` first): their changes have
  no owner, unless a webhook edits managedFields itself.
* The name of an object with ``generateName`` and its uid are made *after* mutating webhooks, which see neither.
* The rules of a kind run after mutating and before validating admission: webhooks can repair an object, and a webhook
  that rejects sees only valid ones.
* Whether the name is taken is known last, in `_commit`: an invalid object is rejected as invalid even if it exists.

What holds everywhere:

* No stage waits. Between the read of the live object and the commit nothing else runs, so writes need no locks. A stage
  that needs a webhook's reply raises `Waits`; the whole verb is run again when the reply has arrived
  (``webhook_calls/replay``). Until `_commit` nothing is stored, so a run can be abandoned at any point.
* Values are frozen. The document inside belongs to the newest value: a stage may change it in place (copying it for
  every stage would cost more than all stages together), so no older value may be read after the next one was made. The
  exception is `Write.given`, which no stage changes.
* Time, randomness and user come from the request (`RequestContext`), never from the server.
* Warnings travel with the values. The failure of a stage gets those of the value before it (`ObjectWriter.write`,
  `advance`), because Kubernetes sends the warnings of a rejected request, too.
"""

from collections.abc import Sequence

from msgspec import Struct

from steersman.apiserver.admission.chain import Admission
from steersman.apiserver.messages.api_request import ApiRequest
from steersman.apiserver.messages.options import WriteOptions
from steersman.apiserver.resources import metadata as meta
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.resources.ownership import Ownership
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.apiserver.status import Refusal, advance, bad_request, internal_error
from steersman.apiserver.storage.record import Record
from steersman.apiserver.verbs.lifecycle import Lifecycle
from steersman.golang.empty_values import put_back, without_empties
from steersman.golang.equality import json_equal
from steersman.golang.strict_json import settle_numbers
from steersman.json_types import JsonObject
from steersman.objects.codec import encode_json
from steersman.validation.object_meta import finalizer_warnings

#: How often a generated name is tried again when it is taken.
_NAME_TRIES = 8
_NAME_LIMIT = 63 - 5
#: Bytes that etcd accepts for an object, its ``--max-request-bytes``.
STORAGE_LIMIT = 3 * 512 * 1024
#: From fewer bytes than this no object becomes too large, whatever defaults and managed fields add.
_SURELY_STORED = STORAGE_LIMIT // 4
#: Endpoints whose writes quotas count: that of the whole object, and that of a pod's requests and limits.
_COUNTED = ("", "resize")
WRONG_NAMESPACE = "the namespace of the provided object does not match the namespace sent on the request"


class Decoded(Struct, frozen=True, gc=False):
    """The object that a client asks for, read as its kind, with defaults filled in."""

    request: ApiRequest
    options: WriteOptions
    obj: JsonObject
    #: The same with marks where a map or list was given empty (see ``golang/empty_values``); ``None`` without any.
    given: JsonObject | None = None
    #: Whether it may have numbers such as 1.0, which are stored as 1 but validated as they are.
    has_fractions: bool = False
    #: Whether the server merged it from the live object, together with its owners, as apply and scale do.
    is_merged: bool = False
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Decoded({self.request!r})"


class Existing(Struct, frozen=True, gc=False):
    """The live object that a write replaces."""

    record: Record
    document: JsonObject

    def __repr__(self) -> str:
        return f"Existing({self.record!r})"


class Write(Struct, frozen=True, gc=False):
    """What stays the same from `Proposed` to `Committed`; made by `propose` and `ObjectWriter.create`."""

    request: ApiRequest
    options: WriteOptions
    served: ServedResource
    #: The part of the object that is written; empty for the whole object.
    subresource: str
    #: The live object; ``None`` for a new one.
    existing: Existing | None
    #: As in `Decoded`.
    given: JsonObject | None
    has_fractions: bool
    is_merged: bool
    #: The resourceVersion that came with a new object, which should have none.
    version: str = ""

    def __repr__(self) -> str:
        return f"Write({self.request!r})"


class Stage(Struct, frozen=True, gc=False):
    """A write that has come this far."""

    write: Write
    obj: JsonObject
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.write.request!r})"


class Proposed(Stage, frozen=True, gc=False):
    """An object in its namespace, beside the live object that it is to replace."""


class Owned(Stage, frozen=True, gc=False):
    """An object whose managedFields say who set which field."""


class Admitted(Stage, frozen=True, gc=False):
    """An object as mutating admission left it."""


class Prepared(Stage, frozen=True, gc=False):
    """An object with everything that only the server sets; what was given empty is marked for the rules."""


class Validated(Stage, frozen=True, gc=False):
    """An object that keeps the rules of its kind, in the form in which it is stored."""

    #: The object as the rules saw it, with marks of what was given empty.
    marked: JsonObject = {}


class Approved(Validated, frozen=True, gc=False):
    """An object that admission policies and validating webhooks accept."""


class Committed(Struct, frozen=True, gc=False):
    """The result: the object as it is served now, and all warnings."""

    raw: bytes
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return "Committed()"


class ObjectWriter:
    """Runs writes through their stages."""

    def __init__(self, objects: ObjectStore, ownership: Ownership, lifecycle: Lifecycle, admission: Admission) -> None:
        self._objects = objects
        self._ownership = ownership
        self._lifecycle = lifecycle
        self._admission = admission

    def create(self, decoded: Decoded) -> Committed:
        """Create an object."""
        return self.write(advance(self._propose_new, decoded))

    def write(self, proposed: Proposed) -> Committed:
        """Create or replace an object that was proposed; a failure carries the warnings of the last value."""
        last: Stage = proposed
        try:
            last = owned = self._own(proposed)
            last = admitted = self._admit(owned)
            last = prepared = self._prepare(admitted)
            last = validated = self._validate(prepared)
            last = approved = self._approve(validated)
            return self._commit(approved)
        except Refusal as refusal:
            raise refusal.after(last.warnings) from None

    def _propose_new(self, decoded: Decoded) -> Proposed:
        """Put a new object into its namespace, and remove what a client cannot set."""
        request, metadata = decoded.request, decoded.obj["metadata"]
        place(request, metadata)
        self._lifecycle.check_create(request.served, metadata.get("namespace", ""), metadata.get("name", ""))
        version = str(metadata.pop("resourceVersion", ""))
        meta.wipe(metadata)
        return Proposed(_write(decoded, None, version), decoded.obj, decoded.warnings)

    def _own(self, proposed: Proposed) -> Owned:
        """Record which manager set which field; an apply did so while it merged."""
        write, obj = proposed.write, proposed.obj
        if not write.is_merged:
            manager, now, live = write.request.manager, write.request.context.now, _live(write)
            if live is None:
                obj = self._ownership.created(write.served, obj, manager, now, write.subresource)
            else:
                obj = self._ownership.updated(write.served, live, obj, manager, now, write.subresource)
        return Owned(write, obj, proposed.warnings)

    def _admit(self, owned: Owned) -> Admitted:
        """Run mutating admission; reject content that the user may not write."""
        write = owned.write
        # A scale is an object of its own to admission: the verb that serves it has asked.
        if write.subresource == "scale" or not self._admission.concerns(write.request):
            return Admitted(write, owned.obj, owned.warnings)
        if write.existing is None and self._admission.is_active:
            write.served.strategy.admit_create(owned.obj)
        review = self._admission.mutate(write.request, owned.obj, _live(write), write.options)
        return Admitted(write, review.obj, owned.warnings + review.warnings)

    def _prepare(self, admitted: Admitted) -> Prepared:
        """Fill in what only the server sets, then let the kind prepare the object."""
        write, obj = admitted.write, admitted.obj
        strategy, context, live = write.served.strategy, write.request.context, _live(write)
        if live is None:
            obj["metadata"] = self._identified(write, obj["metadata"])
        else:
            obj["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
            meta.keep(obj["metadata"], live["metadata"])
            obj["metadata"] = ordered(obj["metadata"])
        if write.given is not None:
            put_back(obj, write.given)
        if live is None:
            strategy.prepare_create(obj, write.subresource, context)
        else:
            strategy.prepare_update(obj, live, write.subresource, context)
        return Prepared(write, obj, admitted.warnings)

    def _identified(self, write: Write, metadata: JsonObject) -> JsonObject:
        """Return the metadata of a new object with a name, if it is to be generated, a uid and a time."""
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = self._free_name(write, metadata)
        context = write.request.context
        return ordered({**metadata, "uid": context.randomness.uid(), "creationTimestamp": context.now})

    def _free_name(self, write: Write, metadata: JsonObject) -> str:
        prefix = metadata["generateName"][:_NAME_LIMIT]
        name = ""
        for _ in range(_NAME_TRIES):
            name = prefix + write.request.context.randomness.suffix()
            if self._objects.get(write.served, metadata.get("namespace", ""), name) is None:
                break
        return name

    @staticmethod
    def _validate(prepared: Prepared) -> Validated:
        """Reject an object that breaks the rules of its kind; then write numbers as they are stored."""
        write, obj = prepared.write, prepared.obj
        served, metadata, live = write.served, obj["metadata"], _live(write)
        duplicates = without_duplicate_owners(write.request, metadata)
        verdict = served.strategy.check(obj, live, "" if live is None else write.subresource)
        errors = verdict.errors
        if "managedFields" in metadata and (bad := meta.manager_errors(metadata)):
            errors = [*errors, *bad]
        if errors:
            raise served.invalid(metadata.get("name", ""), errors, obj.get("kind") or served.kind).after(duplicates)
        warnings = prepared.warnings
        if duplicates or verdict.warnings:
            warnings = (*warnings, *duplicates, *verdict.warnings)
        if not served.builtin and "finalizers" in metadata:
            warnings = (*warnings, *_finalizer_warnings(metadata, live))
        if write.has_fractions:
            settle_numbers(obj)
        # Defaults of new built-in objects mark empty values, too.
        has_marks = write.given is not None or (live is None and served.builtin)
        stored = without_empties(obj) if has_marks else obj
        return Validated(write, stored, warnings, obj)

    def _approve(self, validated: Validated) -> Approved:
        """Run validating admission."""
        write, obj, warnings = validated.write, validated.obj, validated.warnings
        if self._admission.is_active and write.subresource != "scale":
            review = self._admission.validate(write.request, obj, _live(write), write.options)
            warnings += review.warnings
        if self._admission.quotas.is_active and write.subresource in _COUNTED:
            self._admission.quotas.check(write.served, obj, _live(write))
        return Approved(write, obj, warnings, validated.marked)

    def _commit(self, approved: Approved) -> Committed:
        existing = approved.write.existing
        raw = self._commit_new(approved) if existing is None else self._commit_changed(approved, existing)
        write, quotas = approved.write, self._admission.quotas
        if quotas.is_active and write.subresource in _COUNTED and not write.options.dry_run:
            quotas.charge(write.served, approved.obj, _live(write))
        return Committed(raw, approved.warnings)

    def _commit_new(self, approved: Approved) -> bytes:
        write, obj = approved.write, approved.obj
        served, metadata, options = write.served, obj["metadata"], write.options
        if write.version:
            _reject_version(write)
        existing = self._objects.get(served, metadata.get("namespace", ""), metadata["name"])
        if existing is not None:
            raise _taken(served, existing)
        is_whole = not served.strategy.fill_in(obj, is_merged=write.is_merged)
        if options.dry_run:
            # The store gives the object no version, so it shows the one that it came with.
            shown = {**obj, "metadata": {**metadata, "resourceVersion": write.version}} if write.version else obj
            return self._objects.preview(served, shown)
        _fit_into_storage(served, obj, len(write.request.http.body), is_merged=write.is_merged)
        raw = self._objects.put(served, obj, is_whole=is_whole)
        served.strategy.after_commit(obj, None)
        return raw

    def _commit_changed(self, approved: Approved, existing: Existing) -> bytes:
        """Store a changed object, or remove it if it only waited for its last finalizer.

        Nothing is stored when nothing changed, unless the object is stored in a version that is not stored any more.
        """
        write, obj = approved.write, approved.obj
        served, live, record = write.served, existing.document, existing.record
        if self._lifecycle.is_finished(served, obj):
            return self._finish(approved, existing)
        is_whole = not served.strategy.fill_in(obj, is_merged=write.is_merged)
        # Writers of a status get objects as they are stored, even in the response.
        shows_all = write.subresource == "status"
        if self._is_stored(served, existing, obj, is_whole=is_whole):
            return self._objects.raw(served, record, shows_all=shows_all)
        if write.options.dry_run:
            return self._objects.preview(served, obj, shows_all=shows_all)
        size = len(write.request.http.body) + len(record.raw)
        _fit_into_storage(served, obj, size, is_merged=write.is_merged)
        raw = self._objects.put(served, obj, is_whole=is_whole, shows_all=shows_all)
        served.strategy.after_commit(obj, live)
        return raw

    def _is_stored(self, served: ServedResource, existing: Existing, obj: JsonObject, *, is_whole: bool) -> bool:
        """Return whether the stored object is already the one to be written."""
        if not _is_unchanged(obj, existing.document) or not self._objects.is_stored_so(served, existing.record):
            return False
        # An object that is completed only when it is read never equals what was written.
        return is_whole and self._objects.is_whole(served, existing.record, existing.document)

    def _finish(self, approved: Approved, existing: Existing) -> bytes:
        """Remove an object that only waited for its last finalizer; return it as it was."""
        write, obj = approved.write, approved.marked
        shown = obj if write.given is None else without_empties(obj, keeps_lists=True)
        raw = self._objects.rendered(write.served, shown)
        if not write.options.dry_run:
            self._objects.remove(write.served, existing.record)
            write.served.strategy.after_commit(None, existing.document)
        return raw


def propose(decoded: Decoded, existing: Existing) -> Proposed:
    """Return the write that replaces a live object; the verb has checked name, namespace and preconditions."""
    return Proposed(_write(decoded, existing, ""), decoded.obj, decoded.warnings)


def _write(decoded: Decoded, existing: Existing | None, version: str) -> Write:
    request = decoded.request
    return Write(
        request,
        decoded.options,
        request.served,
        request.info.subresource,
        existing,
        decoded.given,
        decoded.has_fractions,
        decoded.is_merged,
        version,
    )


def _live(write: Write) -> JsonObject | None:
    return None if write.existing is None else write.existing.document


def place(request: ApiRequest, metadata: JsonObject) -> None:
    """Put an object into the namespace of the request; cluster-wide objects have none, whatever they say."""
    if not request.served.namespaced:
        metadata.pop("namespace", None)
        return
    wanted = request.info.namespace
    given = metadata.get("namespace", "")
    if given and given != wanted:
        raise bad_request(WRONG_NAMESPACE)
    if wanted and not given:
        metadata["namespace"] = wanted


def without_duplicate_owners(request: ApiRequest, metadata: JsonObject) -> list[str]:
    """Keep each owner once; return the warning about those that are listed again."""
    return meta.without_duplicate_owners(metadata, is_patch=request.http.method == "PATCH")


def _finalizer_warnings(metadata: JsonObject, live: JsonObject | None) -> Sequence[str]:
    if live is not None and metadata["finalizers"] == live["metadata"].get("finalizers"):
        return ()
    return finalizer_warnings(metadata["finalizers"])


def _reject_version(write: Write) -> None:
    """Reject a resourceVersion of a new object; one that is not a version is ignored.

    An update or an apply that turns into a create may carry one.
    """
    is_version = write.version.isdigit() and int(write.version) > 0
    if is_version and not write.options.dry_run and write.request.http.method == "POST":
        raise internal_error("resourceVersion should not be set on objects to be created")


def _fit_into_storage(served: ServedResource, obj: JsonObject, size: int, *, is_merged: bool) -> None:
    """Reject an object that etcd would not store; like kube-apiserver try it without its managed fields first.

    ``size`` is that of everything the object was made of: most are so small that nothing needs to be encoded, unless a
    schema has filled in defaults.
    """
    is_small = size < _SURELY_STORED and not served.strategy.has_defaults
    if is_small or len(encode_json(obj)) <= STORAGE_LIMIT:
        return
    if not is_merged and obj["metadata"].pop("managedFields", None) and len(encode_json(obj)) <= STORAGE_LIMIT:
        return
    raise internal_error("etcdserver: request is too large")


def _taken(served: ServedResource, existing: Record) -> Refusal:
    refusal = served.already_exists(existing.name)
    if not existing.is_deleting:
        return refusal
    return Refusal(409, "AlreadyExists", f"object is being deleted: {refusal.message}", details=refusal.details)


def _is_unchanged(obj: JsonObject, live: JsonObject) -> bool:
    """Return whether a write changes nothing but the times of its field managers."""
    if json_equal(obj, live):
        return True
    managed, before = obj["metadata"].get("managedFields"), live["metadata"].get("managedFields")
    if not managed or not before or len(managed) != len(before):
        return False
    return json_equal(_timeless(obj), _timeless(live))


def _timeless(obj: JsonObject) -> JsonObject:
    metadata = obj["metadata"]
    managed = [{**entry, "time": None} for entry in metadata["managedFields"]]
    return {**obj, "metadata": {**metadata, "managedFields": managed}}


#: The order in which Kubernetes writes metadata.
_ORDER = (
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
)


def ordered(metadata: JsonObject) -> JsonObject:
    """Return metadata in the order in which Kubernetes writes it."""
    return {name: metadata[name] for name in _ORDER if name in metadata}
