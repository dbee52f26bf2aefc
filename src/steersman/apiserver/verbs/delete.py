"""Delete: one object or a collection; at once, after the finalizers, or after the grace period.

    options ─► Deletion ─► AdmittedDeletion ─► Deleted

The stages are those of ``write_path``, without the ones that are about a client's object: preconditions, admission,
commit. As there, nothing is stored before `Deleting.commit`.
"""

from datetime import datetime, timedelta

from msgspec import Struct

from steersman.apiserver.admission.chain import Admission
from steersman.apiserver.messages.api_request import ApiRequest, ApiResponse
from steersman.apiserver.messages.bodies import check_size, parse_json
from steersman.apiserver.messages.negotiation import JSON, PROTOBUF, body_media
from steersman.apiserver.messages.options import DeleteOptions, delete_options, list_options
from steersman.apiserver.messages.selection import select
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.apiserver.resources.storage_keys import precondition_text
from steersman.apiserver.status import advance, bad_request, conflict, success
from steersman.apiserver.storage.record import Record
from steersman.apiserver.storage.store import Page
from steersman.apiserver.verbs.read import Lister
from steersman.errors import DecodeError
from steersman.golang.strict_json import JSON_WORDS
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json, encode_json
from steersman.objects.times import format_time, parse_time

_FOREGROUND = "foregroundDeletion"
_ORPHAN = "orphan"
_SCHEME = "pkg/apis/meta/internalversion/scheme/register.go:27"
_JOB_WARNING = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)


class Deletion(Struct, frozen=True):
    """The delete of one object that exists and fulfils the preconditions."""

    request: ApiRequest
    record: Record
    options: DeleteOptions
    warnings: tuple[str, ...] = ()


class AdmittedDeletion(Deletion, frozen=True):
    """A delete that admission allows; controllers of the server itself are not asked."""


class Deleted(Struct, frozen=True):
    """The result of a delete."""

    #: Whether the object is gone; otherwise it is marked, and waits for its finalizers or its grace period.
    is_gone: bool
    #: The object after the delete, as it is served.
    raw: bytes
    #: The object before the delete.
    live: JsonObject

    def __repr__(self) -> str:
        return f"Deleted(is_gone={self.is_gone!r})"


class Deleting:
    """Deletes objects of every kind."""

    def __init__(self, objects: ObjectStore, admission: Admission) -> None:
        self._admission = admission
        self._objects = objects
        self._lister = Lister(objects)

    def delete(self, request: ApiRequest) -> ApiResponse:
        """Answer a DELETE of one object."""
        asked = _Asked(request, *_options_and_warnings(request))
        deletion = advance(self._find, asked)
        admitted = advance(self._admit, deletion)
        deleted = advance(self.commit, admitted)
        served, record = request.served, admitted.record
        if deleted.is_gone and not served.strategy.answers_delete_with_object:
            document = success(record.name, served.group, served.plural, deleted.live["metadata"]["uid"])
            return ApiResponse(200, document=document, is_object=False, warnings=admitted.warnings)
        return ApiResponse(200, deleted.raw, warnings=admitted.warnings)

    def _find(self, asked: "_Asked") -> Deletion:
        """Return the delete of the live object, if it may be deleted and is the one that the client means."""
        request = asked.request
        served = request.served
        record = self._objects.get(served, request.info.namespace, request.info.name)
        if record is None:
            raise served.not_found(request.info.name)
        served.strategy.check_delete(record.name)
        self.check_preconditions(served, record, asked.options)
        return Deletion(request, record, asked.options, asked.warnings)

    def _admit(self, deletion: Deletion) -> AdmittedDeletion:
        """Ask webhooks and policies about the delete."""
        request, record, options, warnings = deletion.request, deletion.record, deletion.options, deletion.warnings
        if self._admission.is_active:
            live = self._objects.document(request.served, record)
            warnings += self._admission.delete(request, live, _options_document(options), dry_run=options.dry_run)
        return AdmittedDeletion(request, record, options, warnings)

    @staticmethod
    def check_preconditions(served: ServedResource, record: Record, options: DeleteOptions) -> None:
        """Reject a delete of another object, or of another version of it, than the client means."""
        if served.strategy.goes_by_phase:
            _check_phased(served, record, options)
        if options.uid and options.uid != record.uid:
            why = (
                f"the UID in the precondition ({options.uid}) does not match the UID in record ({record.uid}). "
                "The object might have been deleted and then recreated"
            )
            raise conflict(served.kind, served.group, record.name, why)
        if options.resource_version and options.resource_version != str(record.version):
            why = (
                f"the ResourceVersion in the precondition ({options.resource_version}) does not match the "
                f"ResourceVersion in record ({record.version}). The object might have been modified"
            )
            raise conflict(served.kind, served.group, record.name, why)

    def commit(self, deletion: AdmittedDeletion) -> Deleted:
        """Remove one object, or mark it as being deleted."""
        served, record, options = deletion.request.served, deletion.record, deletion.options
        live = self._objects.document(served, record)
        obj = self._objects.document(served, record)
        metadata = obj["metadata"]
        if _is_pending(metadata, options) or ("deletionTimestamp" in metadata and not served.strategy.may_finish(obj)):
            return Deleted(False, self._objects.raw(served, record), live)  # noqa: FBT003 - a field of the value
        served.strategy.before_delete(obj)
        self._set_policy(served, metadata, options)
        grace = _grace(served, obj, options)
        may_go = not metadata.get("finalizers") and not grace and served.strategy.may_finish(obj)
        if may_go and grace is None:
            if live["metadata"].get("finalizers") and (options.dry_run or options.resource_version):
                raw = self._without_last_finalizer(served, record, options)
                return Deleted(False, raw, live)  # noqa: FBT003 - a field of the value
            # The response shows the object as it was last written, without changes by the delete itself.
            return self._remove(deletion, live, live)
        _mark(served, obj, grace or 0, deletion.request.context.moment)
        return self._commit_marked(deletion, obj, live, may_go=may_go)

    def _commit_marked(self, deletion: AdmittedDeletion, obj: JsonObject, live: JsonObject, *, may_go: bool) -> Deleted:
        served, record = deletion.request.served, deletion.record
        if obj == live and self._objects.is_whole(served, record, live):
            return Deleted(False, self._objects.raw(served, record, shows_all=True), live)  # noqa: FBT003 - see above
        if deletion.options.dry_run:
            return Deleted(may_go, self._objects.rendered(served, obj), live)
        raw = self._objects.put(served, obj, shows_all=True)
        served.strategy.after_commit(obj, live)
        if may_go:
            # An object that ends gracefully shows its mark to watchers, even when it goes at once.
            return self._remove(deletion, obj, live)
        return Deleted(False, raw, live)  # noqa: FBT003 - a field of the value

    def commit_stored(self, deletion: AdmittedDeletion) -> None:
        """Remove or mark one object in the version in which it is stored, without calling a conversion webhook.

        The webhook may be gone already, often with the namespace or definition that is being deleted.
        """
        served, record, options = deletion.request.served, deletion.record, deletion.options
        obj: JsonObject = decode_json(record.raw)
        metadata = obj["metadata"]
        self._set_policy(served, metadata, options)
        if not metadata.get("finalizers"):
            self._objects.remove(served, record)
        elif "deletionTimestamp" not in metadata:
            _mark(served, obj, 0, deletion.request.context.moment)
            self._objects.put_stored(served, record, obj)

    @staticmethod
    def _without_last_finalizer(served: ServedResource, record: Record, options: DeleteOptions) -> bytes:
        """Respond as kube-apiserver does if the policy removes the last finalizer: an empty object, or a conflict."""
        if options.dry_run:
            head = {"kind": served.kind, "apiVersion": served.api_version}
            return encode_json({**head, **served.strategy.empty_object()})
        why = f"ResourceVersion in precondition: , ResourceVersion in object meta: {record.version}"
        raise served.conflict(record.name, precondition_text(served, record.namespace, record.name, why))

    def _remove(self, deletion: AdmittedDeletion, obj: JsonObject, live: JsonObject) -> Deleted:
        """Remove an object; its last state has the version of the removal."""
        served, record = deletion.request.served, deletion.record
        shown = {**obj, "metadata": dict(obj["metadata"])}
        if not deletion.options.dry_run:
            self._objects.remove(served, record)
            shown["metadata"]["resourceVersion"] = str(self._objects.version)
            served.strategy.after_commit(None, live)
        raw = self._objects.rendered(served, served.strategy.shown(shown))
        return Deleted(True, raw, live)  # noqa: FBT003 - a field of the value

    @staticmethod
    def _set_policy(served: ServedResource, metadata: JsonObject, options: DeleteOptions) -> None:
        """Translate the propagation policy to the finalizers that the garbage collector looks for."""
        finalizers = list(metadata.get("finalizers", ()))
        orphan, foreground = _ORPHAN in finalizers, _FOREGROUND in finalizers
        if options.policy:
            orphan, foreground = options.policy == "Orphan", options.policy == "Foreground"
        elif options.orphan is not None:
            orphan, foreground = options.orphan, False
        elif orphan and foreground:
            # The first one counts.
            orphan = finalizers.index(_ORPHAN) < finalizers.index(_FOREGROUND)
            foreground = not orphan
        elif not foreground and served.strategy.orphans_by_default:
            orphan = True
        kept = [name for name in finalizers if name not in (_ORPHAN, _FOREGROUND)]
        kept += [_ORPHAN] if orphan else []
        kept += [_FOREGROUND] if foreground else []
        if set(kept) == set(finalizers):
            return
        if kept:
            metadata["finalizers"] = kept
        else:
            metadata.pop("finalizers", None)

    def delete_collection(self, request: ApiRequest) -> tuple[Page, tuple[str, ...]]:
        """Delete all selected objects; return them as they were, with warnings."""
        asked = _Asked(request, *_options_and_warnings(request))
        page = advance(self._select, asked)
        # Everything is admitted before anything goes: a webhook that is waited for runs the verb again, which must
        # find all objects.
        warnings, deletions = asked.warnings, []
        for record in page.records:
            deletion = Deletion(request, record, asked.options, warnings)
            admitted = advance(self._admit, deletion)
            deletions.append(admitted)
            warnings = admitted.warnings
        for admitted in deletions:
            advance(self.commit, admitted)
        return page, warnings

    def _select(self, asked: "_Asked") -> Page:
        request, served = asked.request, asked.request.served
        listed = list_options(request.query)
        page = self._lister.page(served, select(served, request.info.namespace or None, listed), listed)
        self._objects.prepare(served, page.records)
        if served.is_converted:
            # Conversions that take time are done before anything is deleted.
            for record in page.records:
                served.strategy.to_stored(self._objects.document(served, record))
        return page


class _Asked(Struct, frozen=True):
    """A delete as the client asks for it."""

    request: ApiRequest
    options: DeleteOptions
    warnings: tuple[str, ...]


def _options_and_warnings(request: ApiRequest) -> tuple[DeleteOptions, tuple[str, ...]]:
    options = delete_options(request.query, _body(request))
    is_job = request.served.plural == "jobs"
    return options, (_JOB_WARNING,) if is_job and not options.policy and options.orphan is None else ()


def _body(request: ApiRequest) -> JsonObject | None:
    data = request.http.body
    if not data:
        return None
    check_size(data)
    media = body_media(request.http.headers.get("content-type", ""))
    try:
        document = _read(data, media)
    except (ValueError, DecodeError) as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from None
    return _checked_options(document)


def _mark(served: ServedResource, obj: JsonObject, grace: int, now: datetime) -> None:
    """Mark an object as being deleted: when it goes, and after how long. A later mark can only shorten the time."""
    metadata = obj["metadata"]
    moment = now + timedelta(seconds=grace)
    if "deletionTimestamp" in metadata:
        before = metadata.get("deletionGracePeriodSeconds") or 0
        if grace >= before:
            return
        moment = parse_time(metadata["deletionTimestamp"]) + timedelta(seconds=grace - before)
        if moment < now:
            moment, grace = now, min(grace, 1)
    elif "generation" in metadata and served.strategy.tells_grace:
        metadata["generation"] += 1
    metadata["deletionTimestamp"] = format_time(moment)
    if served.strategy.tells_grace:
        metadata["deletionGracePeriodSeconds"] = grace
    served.strategy.marked_for_deletion(obj)


def _check_phased(served: ServedResource, record: Record, options: DeleteOptions) -> None:
    """Reject the delete of another namespace than the client means; Kubernetes words that differently."""
    facts = {"UID": (options.uid, record.uid), "ResourceVersion": (options.resource_version, str(record.version))}
    for name, (given, found) in facts.items():
        if given and given != found:
            why = f"Precondition failed: {name} in precondition: {given}, {name} in object meta: {found}"
            raise served.conflict(record.name, why)


def _is_pending(metadata: JsonObject, options: DeleteOptions) -> bool:
    """Return whether an object already has a grace period, and the delete does not shorten it."""
    before = metadata.get("deletionGracePeriodSeconds") or 0
    if "deletionTimestamp" not in metadata or not before:
        return False
    return options.grace_seconds is None or _asked(options) >= before


def _asked(options: DeleteOptions) -> int:
    """Return the seconds that a delete asks for; a negative number means one."""
    seconds = options.grace_seconds or 0
    return 1 if seconds < 0 else seconds


def _grace(served: ServedResource, obj: JsonObject, options: DeleteOptions) -> int | None:
    """Return the seconds that an object has left; ``None`` for kinds without a grace period."""
    metadata = obj["metadata"]
    if "deletionTimestamp" not in metadata:
        return served.strategy.grace_period(obj, options.grace_seconds)
    if not metadata.get("deletionGracePeriodSeconds"):
        return None
    return _asked(options)


def _options_document(options: DeleteOptions) -> JsonObject:
    """Return the options of a delete in the form of an admission review."""
    document: JsonObject = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"}
    if options.grace_seconds is not None:
        document["gracePeriodSeconds"] = options.grace_seconds
    preconditions = {"uid": options.uid, "resourceVersion": options.resource_version}
    if any(preconditions.values()):
        document["preconditions"] = {key: value for key, value in preconditions.items() if value}
    if options.orphan is not None:
        document["orphanDependents"] = options.orphan
    if options.policy:
        document["propagationPolicy"] = options.policy
    if options.dry_run:
        document["dryRun"] = ["All"]
    return document


def _read(data: bytes, media: str) -> object:
    """Read the options from JSON, YAML or protobuf."""
    if media == JSON:
        return parse_json(data)
    if media == PROTOBUF:
        from steersman.apiserver.messages import protobuf  # noqa: PLC0415 - its tables are large

        return protobuf.decode(data)
    from steersman.golang.yaml_reader import YamlError, read_yaml  # noqa: PLC0415 - YAML bodies are rare

    try:
        return read_yaml(data).value
    except YamlError as error:
        raise ValueError(str(error)) from None


def _checked_options(document: object) -> JsonObject:
    if document is None:
        return {}
    if document.__class__ is not dict:
        word = JSON_WORDS[document.__class__]
        raise bad_request(f"couldn't get version/kind; json parse error: json: cannot unmarshal {word}")
    kind, version = document.get("kind"), document.get("apiVersion") or "v1"
    if kind and kind != "DeleteOptions":
        raise bad_request(f'no kind "{kind}" is registered for version "{version}" in scheme "{_SCHEME}"')
    return document
