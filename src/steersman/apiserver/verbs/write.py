"""Create and update: from a request's document to a stored object.

Everything between reading and committing happens in one step without waiting, so writes need no locks.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from steersman.apiserver.admission.chain import Admission
from steersman.apiserver.messages.api_request import Answer, Call
from steersman.apiserver.messages.bodies import Body, read_body, strict_warnings
from steersman.apiserver.messages.negotiation import body_media
from steersman.apiserver.messages.options import WriteOptions, write_options
from steersman.apiserver.resources import metadata as meta
from steersman.apiserver.resources.object_store import Ledger
from steersman.apiserver.resources.ownership import Ownership
from steersman.apiserver.resources.served import Served
from steersman.apiserver.resources.storage_keys import precondition_text
from steersman.apiserver.resources.strategy import Reading
from steersman.apiserver.status import Refusal, bad_request, internal_error, invalid
from steersman.apiserver.storage.record import Record
from steersman.apiserver.verbs.lifecycle import Lifecycle
from steersman.clock import Clock
from steersman.golang.empty_values import put_back, without_empties
from steersman.golang.equality import json_equal
from steersman.golang.strict_json import (
    cannot_handle_message,
    settle_numbers,
    strict_message,
    unrecognized_message,
)
from steersman.objects.codec import encode_json
from steersman.objects.times import format_time
from steersman.randomness import Randomness
from steersman.validation.field_errors import invalid as invalid_field
from steersman.validation.object_meta import finalizer_warnings
from steersman.validation.wire_types import WireTypeError

Document = dict[str, Any]
#: How often a generated name is tried again when it is taken.
_NAME_TRIES = 8
_NAME_LIMIT = 63 - 5
_NEVER = datetime.min.replace(tzinfo=UTC)
_SECOND = timedelta(seconds=1)
#: Bytes that etcd takes for an object, its ``--max-request-bytes``.
STORAGE_LIMIT = 3 * 512 * 1024
#: From fewer bytes than this no object becomes too large, whatever defaults and managed fields add.
_SURELY_STORED = STORAGE_LIMIT // 4
#: How often Kubernetes tells about a bad field manager.
_TOLD = 3
NO_NAME = "the name of the object ({} based on URL) was undeterminable: name must be provided"
WRONG_NAMESPACE = "the namespace of the provided object does not match the namespace sent on the request"


@dataclass(frozen=True, slots=True)
class Change:
    """An object on its way to replace another one."""

    record: Record
    live: Document = field(repr=False)
    obj: Document = field(repr=False)
    subresource: str = ""
    #: Whether owners of fields were tracked already, as an apply does.
    is_owned: bool = False
    #: Whether the change came as a patch of the live object, so that it needs no resource version.
    is_patch: bool = False


class Writing:
    """Creates and updates objects of every kind."""

    def __init__(
        self,
        ledger: Ledger,
        ownership: Ownership,
        lifecycle: Lifecycle,
        clock: Clock,
        randomness: Randomness,
        admission: Admission,
    ) -> None:
        self._ledger = ledger
        self._ownership = ownership
        self._lifecycle = lifecycle
        self._clock = clock
        self._randomness = randomness
        #: Who else has a say in writes.
        self.admission = admission
        #: The time of a request that is run more than once; empty when now is now.
        self.frozen = ""
        #: The last second that was written, the one after it, and its text.
        self._second = self._next = _NEVER
        self._time = ""

    def now(self) -> str:
        """Give the time as objects carry it; within one second it is written once."""
        if self.frozen:
            return self.frozen
        moment = self._clock.now()
        if not self._second <= moment < self._next:
            self._second = moment.replace(microsecond=0)
            self._next = self._second + _SECOND
            self._time = format_time(self._second)
        return self._time

    def read_object(self, call: Call, kind: str) -> Document:
        """Read the body of a request that is not to be stored; ``kind`` names its options."""
        obj: Document = without_empties(self.decode(call, self._body(call), write_options(call.query, kind)))
        return obj

    def create(self, call: Call) -> Answer:
        """Answer a POST to a collection."""
        options = write_options(call.query, "CreateOptions")
        obj = self.decode(call, self._body(call), options)
        if call.info.name and not obj["metadata"].get("name"):
            obj["metadata"]["name"] = call.info.name
        return Answer(201, self.create_object(call, obj, options))

    @staticmethod
    def _body(call: Call) -> Body:
        media = body_media(call.request.headers.get("content-type", ""))
        return read_body(call.request.body, media, call.served.kind)

    def decode(self, call: Call, body: Body, options: WriteOptions) -> Document:
        """Read a document as the served kind; complaints become warnings or a refusal."""
        served = call.served
        reading = Reading(strict=body.complaints, keeps_empty=True)
        document = self._typed(served, body.document, call.request.body, lenient=options.field_validation == "Ignore")
        try:
            obj = served.strategy.read(document, reading)
        except WireTypeError as error:
            kind = body.document.get("kind") or served.kind
            raise bad_request(_cannot_handle(kind, served, str(error))) from None
        self._complain(call, reading, options)
        call.has_floats = call.has_floats or body.has_floats
        call.has_empties = reading.has_empty
        return obj

    @staticmethod
    def _typed(served: Served, document: Document, raw: bytes, *, lenient: bool) -> Document:
        """Check apiVersion and kind; built-in kinds may leave them out."""
        if served.builtin:
            return served.strategy.typed(document, served)
        kind, api_version = document.get("kind"), document.get("apiVersion")
        if not kind:
            why = f"Object 'Kind' is missing in '{raw.decode('utf-8', 'replace')}'"
            raise bad_request(
                _cannot_handle(served.kind, served, why) if lenient else unrecognized_message(raw, served.kind, why)
            )
        if api_version != served.api_version:
            raise bad_request(
                f"the API version in the data ({api_version or ''}) does not match the expected API version "
                f"({served.api_version})"
            )
        return document

    @staticmethod
    def _complain(call: Call, reading: Reading, options: WriteOptions) -> None:
        if reading.strict and options.field_validation != "Ignore":
            faults = reading.faults
            if options.field_validation == "Strict":
                served = call.served
                raise bad_request(cannot_handle_message(served.kind, served.version, strict_message(faults)))
            call.warnings += strict_warnings(faults)
        call.warnings += reading.warnings

    def create_object(self, call: Call, obj: Document, options: WriteOptions, *, is_owned: bool = False) -> bytes:
        """Make a new object of a document that was read; give it as bytes."""
        served, given = call.served, obj
        if call.has_empties:
            obj = without_empties(obj, keeps_lists=True)
        metadata = obj["metadata"]
        self.place(call, metadata)
        self._lifecycle.check_create(served, metadata.get("namespace", ""), metadata.get("name", ""))
        # What is no version at all is overlooked.
        version = str(metadata.pop("resourceVersion", ""))
        # Who writes over what turns out not to be there has a version of something; only who creates must not.
        is_create = call.request.method == "POST"
        version_given = version.isdigit() and int(version) > 0 and not options.dry_run and is_create
        meta.wipe(metadata)
        now = self.now()
        if not is_owned:
            obj = self._ownership.created(served, obj, call.manager, now, call.info.subresource)
        if self.admission.concerns(call):
            obj = self.admission.mutate(call, obj, None, options)
        metadata = obj["metadata"] = self._identified(served, obj["metadata"], now)
        judged = self._judged(call, obj, given, None, call.info.subresource)
        # Defaults of built-in kinds mark what is empty too.
        obj = without_empties(judged) if call.has_empties or served.builtin else judged
        if self.admission.is_active:
            self.admission.validate(call, obj, None, options)
        if version_given:
            raise internal_error("resourceVersion should not be set on objects to be created")
        existing = self._ledger.get(served, metadata.get("namespace", ""), metadata["name"])
        if existing is not None:
            raise _taken(served, existing)
        is_whole = not served.strategy.fill_in(obj, is_merged=is_owned)
        if options.dry_run:
            # Nothing gives the object a version, so it shows the one that it came with.
            shown = {**obj, "metadata": {**metadata, "resourceVersion": version}} if version else obj
            return self._ledger.preview(served, shown)
        _fit_into_storage(served, obj, len(call.request.body), is_apply=is_owned)
        raw = self._ledger.put(served, obj, is_whole=is_whole)
        served.strategy.after_commit(obj, None)
        return raw

    def _identified(self, served: Served, metadata: Document, now: str) -> Document:
        """Give the metadata of a new object: with a name, if it is to be made up, a uid and a time."""
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = self._free_name(served, metadata)
        return ordered({**metadata, "uid": self._randomness.uid(), "creationTimestamp": now})

    def _free_name(self, served: Served, metadata: Document) -> str:
        prefix = metadata["generateName"][:_NAME_LIMIT]
        name = ""
        for _ in range(_NAME_TRIES):
            name = prefix + self._randomness.suffix()
            if self._ledger.get(served, metadata.get("namespace", ""), name) is None:
                break
        return name

    @staticmethod
    def place(call: Call, metadata: Document) -> None:
        """Put an object into the namespace of the request; cluster-wide objects have none, whatever they say."""
        if not call.served.namespaced:
            metadata.pop("namespace", None)
            return
        wanted = call.info.namespace
        given = metadata.get("namespace", "")
        if given and given != wanted:
            raise bad_request(WRONG_NAMESPACE)
        if wanted and not given:
            metadata["namespace"] = wanted

    def _judged(self, call: Call, obj: Document, given: Document, old: Document | None, subresource: str) -> Document:
        """Prepare and judge an object by the rules of its kind.

        ``given`` is the object as it was read: the rules are told what was empty in it.
        """
        strategy = call.served.strategy
        if call.has_empties:
            put_back(obj, given)
        if old is None:
            strategy.prepare_create(obj, subresource)
            strategy.created_by(obj, call.user)
        else:
            strategy.prepare_update(obj, old, subresource)
        self._judge(call, obj, old, "" if old is None else subresource)
        return obj

    def _judge(self, call: Call, obj: Document, old: Document | None, subresource: str) -> None:
        """Refuse an object that breaks rules; tell the client what it should know. Numbers are then as stored ones."""
        served, metadata = call.served, obj["metadata"]
        self.name_owners_once(call, metadata)
        verdict = served.strategy.check(obj, old, subresource)
        errors = verdict.errors
        if "managedFields" in metadata and (bad := meta.manager_errors(metadata)):
            errors = [*errors, *bad * _TOLD]
        if errors:
            raise served.invalid(metadata.get("name", ""), errors, obj.get("kind") or served.kind)
        call.warnings += verdict.warnings
        if (
            not served.builtin
            and "finalizers" in metadata
            and (old is None or metadata["finalizers"] != old["metadata"].get("finalizers"))
        ):
            call.warnings += finalizer_warnings(metadata["finalizers"])
        if call.has_floats:
            settle_numbers(obj)

    def update(self, call: Call) -> Answer:
        """Answer a PUT of an object or of its status."""
        served, name = call.served, call.info.name
        options = write_options(call.query, "UpdateOptions")
        obj = self.decode(call, self._body(call), options)
        metadata = obj["metadata"]
        self.place(call, metadata)
        self._check_name(call, metadata)
        self.name_owners_once(call, metadata)
        record = self._ledger.get(served, call.info.namespace, name)
        if record is None:
            if not served.strategy.creates_on_update(call.info.subresource):
                raise served.not_found(name)
            self._check_uid(call, metadata, "", options)
            given = metadata.get("resourceVersion", "0")
            if not given.isdigit():
                raise internal_error(_bad_version(given))
            return Answer(201, self.create_object(call, obj, options))
        live = self._ledger.document(served, record)
        change = Change(record, live, obj, call.info.subresource)
        self._check_preconditions(call, change, options)
        return Answer(200, self.update_object(call, change, options))

    @staticmethod
    def _check_name(call: Call, metadata: Document) -> None:
        given, wanted = metadata.get("name", ""), call.info.name
        if not given:
            raise bad_request(NO_NAME.format(wanted))
        if given != wanted:
            raise bad_request(f"the name of the object ({given}) does not match the name on the URL ({wanted})")

    @staticmethod
    def name_owners_once(call: Call, metadata: Document) -> None:
        """Forget owners that are named again, and tell; a write that is refused later was told, too."""
        call.warnings += meta.without_duplicate_owners(metadata, is_patch=call.request.method == "PATCH")

    @staticmethod
    def _check_uid(call: Call, metadata: Document, uid: str, options: WriteOptions) -> None:
        """Refuse a write that is about another object than the one with a uid; what is not there has none."""
        given = metadata.get("uid", "")
        if given and given != uid:
            why = f"UID in precondition: {given}, UID in object meta: {uid}"
            namespace, name = metadata.get("namespace", ""), metadata["name"]
            text = precondition_text(call.served, namespace, name, why, dry_run=options.dry_run)
            raise call.served.conflict(name, text)

    def _check_preconditions(self, call: Call, change: Change, options: WriteOptions) -> None:
        """Refuse an update of another object than the one that is there, or of an older state of it."""
        served, metadata, record = call.served, change.obj["metadata"], change.record
        self._check_uid(call, metadata, record.uid, options)
        self.check_version(served, record, metadata, unconditional=served.strategy.unconditional_update)

    @staticmethod
    def check_version(served: Served, record: Record, metadata: Document, *, unconditional: bool) -> None:
        """Refuse a write that was made from another version than the live one."""
        given = str(metadata.get("resourceVersion") or "")
        if given in ("", "0"):
            if not unconditional:
                error = invalid_field("metadata.resourceVersion", 0, "must be specified for an update")
                raise invalid(served.plural, served.group, record.name, [error])
            return
        if not given.isdigit():
            raise internal_error(_bad_version(given))
        if int(given) != record.version:
            raise served.modified(record.name)

    def update_object(self, call: Call, change: Change, options: WriteOptions) -> bytes:
        """Replace an object by one that was read; give it as bytes.

        Nothing is written when nothing changed, unless it is stored in a version that was stored formerly.
        """
        served, live, record = call.served, change.live, change.record
        obj = without_empties(change.obj, keeps_lists=True) if call.has_empties else change.obj
        if change.is_patch:
            obj["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
        if not change.is_owned:
            obj = self._ownership.updated(served, live, obj, call.manager, self.now(), change.subresource)
        # A scale is an object of its own to everyone who has a say in it: who serves it has asked them.
        is_told = change.subresource != "scale"
        if is_told and self.admission.concerns(call):
            obj = self.admission.mutate(call, obj, live, options)
        obj["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
        meta.keep(obj["metadata"], live["metadata"])
        obj["metadata"] = ordered(obj["metadata"])
        judged = self._judged(call, obj, change.obj, live, change.subresource)
        obj = without_empties(judged) if call.has_empties else judged
        if is_told and self.admission.is_active:
            self.admission.validate(call, obj, live, options)
        if self._lifecycle.is_finished(served, obj):
            return self._finish(call, change, judged, options)
        is_whole = not served.strategy.fill_in(obj, is_merged=change.is_owned)
        # Writers of a status meet objects as they are stored, even in the answer.
        shows_all = change.subresource == "status"
        if self._is_stored(served, change, obj, is_whole=is_whole):
            return self._ledger.raw(served, record, shows_all=shows_all)
        if options.dry_run:
            return self._ledger.preview(served, obj, shows_all=shows_all)
        _fit_into_storage(served, obj, len(call.request.body) + len(record.raw), is_apply=change.is_owned)
        raw = self._ledger.put(served, obj, is_whole=is_whole, shows_all=shows_all)
        served.strategy.after_commit(obj, live)
        return raw

    def _is_stored(self, served: Served, change: Change, obj: Document, *, is_whole: bool) -> bool:
        """Tell whether what would be written is what was written last."""
        if not _is_unchanged(obj, change.live) or not self._ledger.is_stored_so(served, change.record):
            return False
        # What is filled in only when it is read is never the same as what was written.
        return is_whole and self._ledger.is_whole(served, change.record, change.live)

    def _finish(self, call: Call, change: Change, obj: Document, options: WriteOptions) -> bytes:
        """Remove an object that was only waiting for its last finalizer; the answer shows it as it was."""
        raw = self._ledger.rendered(call.served, without_empties(obj, keeps_lists=True) if call.has_empties else obj)
        if not options.dry_run:
            self._ledger.remove(call.served, change.record)
            call.served.strategy.after_commit(None, change.live)
        return raw


def _fit_into_storage(served: Served, obj: Document, size: int, *, is_apply: bool) -> None:
    """Reject an object that etcd would not store; like kube-apiserver try it without its managed fields first.

    ``size`` is that of all that the object was made of: most are so small that nothing needs to be looked at, unless a
    schema has filled in defaults.
    """
    is_small = size < _SURELY_STORED and not served.strategy.has_defaults
    if is_small or len(encode_json(obj)) <= STORAGE_LIMIT:
        return
    if not is_apply and obj["metadata"].pop("managedFields", None) and len(encode_json(obj)) <= STORAGE_LIMIT:
        return
    raise internal_error("etcdserver: request is too large")


def _taken(served: Served, existing: Record) -> Refusal:
    refusal = served.already_exists(existing.name)
    if not existing.is_deleting:
        return refusal
    return Refusal(409, "AlreadyExists", f"object is being deleted: {refusal.message}", details=refusal.details)


def _is_unchanged(obj: Document, live: Document) -> bool:
    """Tell whether a write changes nothing but the times of its field managers."""
    if json_equal(obj, live):
        return True
    managed, before = obj["metadata"].get("managedFields"), live["metadata"].get("managedFields")
    if not managed or not before or len(managed) != len(before):
        return False
    return json_equal(_timeless(obj), _timeless(live))


def _timeless(obj: Document) -> Document:
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


def ordered(metadata: Document) -> Document:
    """Give metadata in the order in which Kubernetes writes it."""
    return {name: metadata[name] for name in _ORDER if name in metadata}


def _bad_version(text: str) -> str:
    return f'strconv.ParseUint: parsing "{text}": invalid syntax'


def _cannot_handle(kind: str, served: Served, why: str) -> str:
    return f'{kind} in version "{served.version}" cannot be handled as a {served.kind}: {why}'
