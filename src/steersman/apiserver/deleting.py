"""Delete: an object at once, after its finalizers, or after its grace period; or a whole collection."""

from datetime import timedelta
from typing import Any

from steersman.apiserver.admission.chain import Admission
from steersman.apiserver.bodies import JSON_WORDS, check_size, parse_json
from steersman.apiserver.call import Answer, Call
from steersman.apiserver.ledger import Ledger
from steersman.apiserver.negotiation import JSON, PROTOBUF, body_media
from steersman.apiserver.options import DeleteOptions, delete_options, list_options
from steersman.apiserver.reading import Lister
from steersman.apiserver.selection import select
from steersman.apiserver.served import Served
from steersman.apiserver.status import bad_request, conflict, success
from steersman.apiserver.storage.record import Record
from steersman.apiserver.storage.store import Page
from steersman.apiserver.storage_keys import precondition_text
from steersman.clock import Clock
from steersman.errors import DecodeError
from steersman.objects.codec import encode_json
from steersman.objects.times import format_time, parse_time

Document = dict[str, Any]
_FOREGROUND = "foregroundDeletion"
_ORPHAN = "orphan"
_SCHEME = "pkg/apis/meta/internalversion/scheme/register.go:27"
_JOB_WARNING = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)


class Deleting:
    """Deletes objects of every kind."""

    def __init__(self, ledger: Ledger, clock: Clock, admission: Admission) -> None:
        self._admission = admission
        self._ledger = ledger
        self._clock = clock
        self._lister = Lister(ledger)

    def delete(self, call: Call) -> Answer:
        """Answer a DELETE of one object."""
        options = delete_options(call.query, self._body(call))
        served = call.served
        _warn(call, options)
        record = self._ledger.get(served, call.info.namespace, call.info.name)
        if record is None:
            raise served.not_found(call.info.name)
        served.strategy.check_delete(record.name)
        self._check_preconditions(served, record, options)
        if self._admission.is_active:
            self._admit(call, record, options)
        gone, raw, live = self.delete_record(served, record, options)
        if gone and not served.strategy.answers_delete_with_object:
            document = success(record.name, served.group, served.plural, live["metadata"]["uid"])
            return Answer(200, document=document, is_object=False)
        return Answer(200, raw)

    @staticmethod
    def _body(call: Call) -> Document | None:
        data = call.request.body
        if not data:
            return None
        check_size(data)
        media = body_media(call.request.headers.get("content-type", ""))
        try:
            document = _read(data, media)
        except (ValueError, DecodeError) as error:
            raise bad_request(f"couldn't get version/kind; json parse error: {error}") from None
        return _options_document(document)

    def _admit(self, call: Call, record: Record, options: DeleteOptions) -> None:
        live = self._ledger.document(call.served, record)
        self._admission.delete(call, live, _told(options), dry_run=options.dry_run)

    @staticmethod
    def _check_preconditions(served: Served, record: Record, options: DeleteOptions) -> None:
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

    def delete_record(self, served: Served, record: Record, options: DeleteOptions) -> tuple[bool, bytes, Document]:
        """Delete or mark one object: whether it is gone, as bytes, and as the document that it was."""
        live = self._ledger.document(served, record)
        obj = self._ledger.document(served, record)
        metadata = obj["metadata"]
        if _is_pending(metadata, options) or ("deletionTimestamp" in metadata and not served.strategy.may_finish(obj)):
            return False, self._ledger.raw(served, record), live
        served.strategy.before_delete(obj)
        self._set_policy(served, metadata, options)
        grace = _grace(served, obj, options)
        may_go = not metadata.get("finalizers") and not grace and served.strategy.may_finish(obj)
        if may_go and grace is None:
            if live["metadata"].get("finalizers") and (options.dry_run or options.resource_version):
                return False, self._without_last_finalizer(served, record, options), live
            # It goes as it was last written: what the delete itself would have changed is not told.
            return self._remove(served, record, live, live, dry_run=options.dry_run)
        self._mark(served, obj, grace or 0)
        if obj == live and self._ledger.is_whole(served, record, live):
            return False, self._ledger.raw(served, record, shows_all=True), live
        if options.dry_run:
            return may_go, self._ledger.rendered(served, obj), live
        raw = self._ledger.put(served, obj, shows_all=True)
        served.strategy.after_commit(obj, live)
        if may_go:
            # A kind that ends gracefully shows that it was told to, even when it goes at once.
            return self._remove(served, record, obj, live, dry_run=False)
        return False, raw, live

    @staticmethod
    def _without_last_finalizer(served: Served, record: Record, options: DeleteOptions) -> bytes:
        """Answer a delete whose policy lets go of the last finalizer as a real server does: of an empty object."""
        if options.dry_run:
            head = {"kind": served.kind, "apiVersion": served.api_version}
            return encode_json({**head, **served.strategy.empty_object()})
        why = f"ResourceVersion in precondition: , ResourceVersion in object meta: {record.version}"
        raise served.conflict(record.name, precondition_text(served, record.namespace, record.name, why))

    def _remove(
        self, served: Served, record: Record, obj: Document, live: Document, *, dry_run: bool
    ) -> tuple[bool, bytes, Document]:
        """Take an object away; give its last state, under the version of its end."""
        shown = {**obj, "metadata": dict(obj["metadata"])}
        if not dry_run:
            self._ledger.remove(served, record)
            shown["metadata"]["resourceVersion"] = str(self._ledger.version)
            served.strategy.after_commit(None, live)
        return True, self._ledger.rendered(served, served.strategy.shown(shown)), live

    def _mark(self, served: Served, obj: Document, grace: int) -> None:
        """Note that an object is to go: when, and after how long. The first mark counts, unless time gets shorter."""
        metadata, now = obj["metadata"], self._clock.now()
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

    @staticmethod
    def _set_policy(served: Served, metadata: Document, options: DeleteOptions) -> None:
        """Turn the policy into the finalizers that the garbage collector waits for."""
        finalizers = list(metadata.get("finalizers", ()))
        orphan, foreground = _ORPHAN in finalizers, _FOREGROUND in finalizers
        if options.policy:
            orphan, foreground = options.policy == "Orphan", options.policy == "Foreground"
        elif options.orphan is not None:
            orphan, foreground = options.orphan, False
        elif orphan and foreground:
            # Whichever was there first.
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

    def delete_collection(self, call: Call) -> Page:
        """Answer a DELETE of a collection: everything that is selected goes; the answer lists it as it was."""
        served = call.served
        options = delete_options(call.query, self._body(call))
        _warn(call, options)
        listed = list_options(call.query)
        selection = select(served, call.info.namespace or None, listed)
        page = self._lister.page(served, selection, listed)
        self._ledger.prepare(served, page.records)
        if served.is_converted:
            # Everything that has to be waited for comes before anything goes.
            for record in page.records:
                served.strategy.to_stored(self._ledger.document(served, record))
        if self._admission.is_active:
            # Everything is admitted before anything goes: who waits for an answer begins again, and must find all.
            for record in page.records:
                self._admit(call, record, options)
        for record in page.records:
            self.delete_record(served, record, options)
        return page


def _check_phased(served: Served, record: Record, options: DeleteOptions) -> None:
    """Refuse in other words to delete a namespace that is another one than was thought."""
    facts = {"UID": (options.uid, record.uid), "ResourceVersion": (options.resource_version, str(record.version))}
    for name, (given, found) in facts.items():
        if given and given != found:
            why = f"Precondition failed: {name} in precondition: {given}, {name} in object meta: {found}"
            raise served.conflict(record.name, why)


def _warn(call: Call, options: DeleteOptions) -> None:
    if call.served.plural == "jobs" and not options.policy and options.orphan is None:
        call.warnings.append(_JOB_WARNING)


def _is_pending(metadata: Document, options: DeleteOptions) -> bool:
    """Tell whether an object has time to end already, and is not asked to hurry: then nothing about it changes."""
    before = metadata.get("deletionGracePeriodSeconds") or 0
    if "deletionTimestamp" not in metadata or not before:
        return False
    return options.grace_seconds is None or _asked(options) >= before


def _asked(options: DeleteOptions) -> int:
    """Give the seconds that a delete asks for; less than none are one."""
    seconds = options.grace_seconds or 0
    return 1 if seconds < 0 else seconds


def _grace(served: Served, obj: Document, options: DeleteOptions) -> int | None:
    """Give the seconds that an object has left; ``None`` where it goes without ceremony."""
    metadata = obj["metadata"]
    if "deletionTimestamp" not in metadata:
        return served.strategy.grace_period(obj, options.grace_seconds)
    if not metadata.get("deletionGracePeriodSeconds"):
        return None
    return _asked(options)


def _told(options: DeleteOptions) -> Document:
    """Give the options of a delete as reviews tell them."""
    told: Document = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"}
    if options.grace_seconds is not None:
        told["gracePeriodSeconds"] = options.grace_seconds
    preconditions = {"uid": options.uid, "resourceVersion": options.resource_version}
    if any(preconditions.values()):
        told["preconditions"] = {key: value for key, value in preconditions.items() if value}
    if options.orphan is not None:
        told["orphanDependents"] = options.orphan
    if options.policy:
        told["propagationPolicy"] = options.policy
    if options.dry_run:
        told["dryRun"] = ["All"]
    return told


def _read(data: bytes, media: str) -> Any:
    """Read the options in whatever form they came."""
    if media == JSON:
        return parse_json(data)
    if media == PROTOBUF:
        from steersman.apiserver import protobuf  # noqa: PLC0415 - its tables are large

        return protobuf.decode(data)
    from steersman.objects.yaml_reader import YamlError, read_yaml  # noqa: PLC0415 - YAML bodies are rare

    try:
        return read_yaml(data).value
    except YamlError as error:
        raise ValueError(str(error)) from None


def _options_document(document: Any) -> Document:
    if document is None:
        return {}
    if document.__class__ is not dict:
        word = JSON_WORDS[document.__class__]
        raise bad_request(f"couldn't get version/kind; json parse error: json: cannot unmarshal {word}")
    kind, version = document.get("kind"), document.get("apiVersion") or "v1"
    if kind and kind != "DeleteOptions":
        raise bad_request(f'no kind "{kind}" is registered for version "{version}" in scheme "{_SCHEME}"')
    return document
