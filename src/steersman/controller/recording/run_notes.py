"""Notes what a run reads and sends, while it happens, and makes its `Recording` of it, without secrets.

What a run reads from a cache is noted by the context (`RunNotes.saw`), by reference. What it reads from the server and
what it sends is noted by `RecordingTransport`, which stands before the client of the operator and knows by a context
variable which run sends a request; so reads and writes with ``ctx.client`` are noted, too.

An object is noted as it was when the run first saw it: what the run itself has written is not an input.

Secrets: values of confidential kinds are replaced by placeholders that say which value stood there. Where a value of a
Secret that the run has read occurs in another object that it has read, the same placeholder stands there, so that a
replay finds objects that fit together. Everything else is masked as in the history: what any run has read of a Secret,
and values of fields that are named like a password, wherever they occur in the recording; except the name of an object
that the run has read or looked for (``credentials: my-secret``), which is public, and by which a replay finds the
object. This is done before a recording is made, because a recording is kept, shown and exported without another look.
"""

from base64 import b64encode
from collections.abc import Awaitable, Iterable, Iterator
from contextvars import ContextVar
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import replace

from steersman.controller.recording.secret_learning import secrets_in
from steersman.errors import DecodeError, TransportError
from steersman.history.differences import is_confidential_name
from steersman.history.recordings import RecordedWrite, Recording
from steersman.history.records import Reconcile
from steersman.history.redaction import MASK, REMEMBERED, SHORTEST, Redactor, without_credentials
from steersman.json_types import JsonObject
from steersman.objects.codec import bytes_read, decode_json
from steersman.objects.identity import ApiResource, ObjectKey
from steersman.objects.resource import KubeObject, resource_of
from steersman.protocol.confidential import is_confidential, is_confidential_resource, without_quoted_values
from steersman.protocol.http import SAFE_METHODS, Request, Response
from steersman.transport.base import DEFAULT_TIMEOUT
from steersman.transport.wrapper import TransportWrapper

T = TypeVar("T")

#: Objects and requests of one run that are noted; a run with more is not recorded.
_MOST: Final = 500
_APPLY: Final = "application/apply-patch+yaml"
_FAILED: Final = 400
#: The annotation in which kubectl keeps the whole object.
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
#: Fields of metadata that change with every write.
_BOOKKEEPING: Final = frozenset({"managedFields", "resourceVersion", "generation"})
#: Fields by which objects and their parts are found.
_NAMES: Final = frozenset({"name", "generateName", "namespace", "kind", "apiVersion", "uid"})
#: Elements of a list whose name says what their value is.
_VALUE: Final = "value"


class RunNotes:
    """What one run read and sent."""

    def __init__(self) -> None:
        #: By kind, namespace and name: the object as it was first seen, or ``None`` if the run has created it.
        self._objects: dict[tuple[str, str, str, str], tuple[ApiResource | None, bytes] | None] = {}
        self._sent: list[tuple[Request, Response | TransportError]] = []

    @property
    def is_too_much(self) -> bool:
        """Whether the run did more than a recording holds."""
        return len(self._objects) > _MOST or len(self._sent) > _MOST

    def saw(self, objects: Iterable[KubeObject]) -> None:
        """Note objects that were read; those that the author has made are not."""
        for obj in objects:
            data = bytes_read(obj)
            if data is not None and len(self._objects) <= _MOST:
                self.had(resource_of(type(obj)), obj.key, data)

    def had(self, resource: ApiResource, key: ObjectKey, data: bytes | None) -> None:
        """Note an object as a cache has it."""
        if data is not None:
            self._objects.setdefault((resource.gvk.group, resource.gvk.kind, *key), (resource, data))

    def answered(self, request: Request, response: Response | TransportError) -> None:
        """Note a request and its answer."""
        if request.method in SAFE_METHODS:
            if isinstance(response, Response) and response.status < _FAILED and len(self._objects) <= _MOST:
                self._read(response)
        elif len(self._sent) <= _MOST:
            self._sent.append((request, response))
            if isinstance(response, Response) and response.status < _FAILED:
                self._wrote(response)

    def _read(self, response: Response) -> None:
        for document in _documents(response.body):
            key = _key_of(document)
            if key is not None:
                self._objects.setdefault(key, (None, msgspec.json.encode(document)))

    def _wrote(self, response: Response) -> None:
        """Note that an object that was not seen before was created by the run, as far as a later read is concerned."""
        for document in _documents(response.body):
            key = _key_of(document)
            if key is not None:
                self._objects.setdefault(key, None)

    def documents(self) -> Iterator[tuple[JsonObject, bool]]:
        """Yield every object that was read, and whether its content is confidential."""
        for key, noted in self._objects.items():
            if noted is None:
                continue
            resource, data = noted
            document = _decoded(data)
            if not isinstance(document, dict):
                continue
            if resource is not None:
                document |= {"apiVersion": resource.gvk.api_version, "kind": resource.gvk.kind}
            plural = resource.plural if resource is not None else f"{key[1].lower()}s"
            yield document, is_confidential_resource(plural)

    def sent(self) -> list[tuple[Request, Response | TransportError]]:
        """Return every request that changes something, with its answer."""
        return self._sent


#: The notes of the run that is under way in this task.
current_notes: ContextVar[RunNotes | None] = ContextVar("current_notes", default=None)


class RecordingTransport(TransportWrapper):
    """Sends requests by another transport, and notes those of a run that is recorded."""

    async def request(self, request: Request, *, timeout: float | None = DEFAULT_TIMEOUT) -> Response:  # noqa: ASYNC109 - the signature of Transport
        """Send a request, and note it with its answer."""
        notes = current_notes.get()
        if notes is None:
            return await self._inner.request(request, timeout=timeout)
        try:
            response = await self._inner.request(request, timeout=timeout)
        except TransportError as error:
            notes.answered(request, error)
            raise
        notes.answered(request, response)
        return response


async def noted(run: Awaitable[T], notes: RunNotes) -> T:
    """Wait for a run, and note everything that it reads and sends."""
    current_notes.set(notes)
    try:
        return await run
    finally:
        current_notes.set(None)


def recording_of(
    notes: RunNotes,
    reconcile: Reconcile,
    masking: "Masking",
    *,
    operator: str,
    manager: str,
) -> Recording:
    """Return the recording of a run without secrets; of managed fields only what ``manager`` has applied is kept."""
    inputs = list(notes.documents())
    states = {_key_of(document): document for document, _ in inputs}
    masking.keep_names((document for document, _ in inputs), _names_read(reconcile))
    for document, is_hidden in [*inputs, *_bodies(notes)]:
        masking.learn(document, is_confidential=is_hidden)
    writes = [_write_of(request, response, states, masking) for request, response in notes.sent()]
    reads = [masking.input(_slim(one, manager), is_confidential=hidden) for one, hidden in inputs]
    return Recording(
        object=reconcile.object,
        controller=reconcile.controller,
        operator=operator,
        number=reconcile.number,
        started=reconcile.started,
        seconds=reconcile.seconds,
        failures_before=reconcile.failures_before,
        causes=tuple(replace(one, detail=masking.value(one.detail)) for one in reconcile.causes),
        reads=tuple(reads),
        writes=tuple(writes),
        events=tuple(replace(one, message=masking.value(one.message)) for one in reconcile.events),
        external_systems=tuple(dict.fromkeys(one.system for one in reconcile.external_writes)),
        result=reconcile.result,
        message=masking.value(reconcile.message),
    )


def _bodies(notes: RunNotes) -> Iterator[tuple[Any, bool]]:
    """Yield the bodies of the requests that were sent, and whether they are confidential."""
    for request, _ in notes.sent():
        yield _decoded(request.body), is_confidential(request.target)


def _write_of(
    request: Request, response: Response | TransportError, states: dict[Any, JsonObject], masking: "Masking"
) -> RecordedWrite:
    path = request.target.partition("?")[0]
    body = _decoded(request.body)
    hidden = is_confidential(path)
    code, error, has_effect = 0, None, True
    answer = None
    if isinstance(response, Response):
        code = response.status
        answer = _decoded(response.body)
        if code >= _FAILED and isinstance(answer, dict):
            error = masking.value(_without_quotes(answer) if hidden else answer)
        elif code < _FAILED:
            has_effect = _has_effect(request, answer, states)
    return RecordedWrite(
        verb=_verb(request),
        path=masking.path(path),
        body=masking.output(body, is_confidential=hidden),
        generated_name=masking.path(_generated_name(body, answer)),
        code=code,
        error=error,
        has_effect=has_effect,
    )


def _generated_name(body: Any, answer: Any) -> str:
    """Return the name that the server has given to an object that was created without one."""
    sent = body.get("metadata") if isinstance(body, dict) else None
    made = answer.get("metadata") if isinstance(answer, dict) else None
    if not isinstance(sent, dict) or not isinstance(made, dict) or sent.get("name") or not sent.get("generateName"):
        return ""
    return str(made.get("name") or "")


def _without_quotes(status: JsonObject) -> JsonObject:
    """Return the rejection of an object of a confidential kind without the values that the server quotes."""
    kept = {name: value for name, value in status.items() if name != "details"}
    return {**kept, "message": without_quoted_values(str(status.get("message") or ""))}


def _verb(request: Request) -> str:
    if request.method == "PATCH":
        return "apply" if request.headers.get("content-type", "").startswith(_APPLY) else "patch"
    return {"POST": "create", "PUT": "update", "DELETE": "delete"}.get(request.method, request.method.lower())


def _has_effect(request: Request, answer: Any, states: dict[Any, JsonObject]) -> bool:
    """Return whether an object differs from what the run has read of it; true if that is not known."""
    before = states.get(_key_of(answer)) if isinstance(answer, dict) else None
    if before is None or request.method == "DELETE":
        return True
    if is_confidential(request.target):
        # Values are not compared: a replay has placeholders.
        before, answer = _with_names_only(before), _with_names_only(answer)
    return _content(before) != _content(answer)


def _with_names_only(document: JsonObject) -> JsonObject:
    data = document.get("data")
    return {**document, "data": sorted(data)} if isinstance(data, dict) else document


def _content(document: JsonObject) -> JsonObject:
    """Return an object without the fields that change with every write."""
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        return document
    return {**document, "metadata": {name: value for name, value in metadata.items() if name not in _BOOKKEEPING}}


def _documents(body: bytes) -> Iterator[JsonObject]:
    """Yield the objects of an answer: one, or those of a list."""
    answer = _decoded(body)
    if not isinstance(answer, dict):
        return
    items = answer.get("items")
    if not isinstance(items, list):
        yield answer
        return
    kind, version = str(answer.get("kind") or "").removesuffix("List"), answer.get("apiVersion")
    yield from ({"apiVersion": version, "kind": kind, **one} for one in items if isinstance(one, dict))


def _key_of(document: JsonObject) -> tuple[str, str, str, str] | None:
    """Return group, kind, namespace and name of an object; ``None`` for a document that is not a whole object."""
    kind, metadata = document.get("kind"), document.get("metadata")
    if not isinstance(metadata, dict) or not metadata.get("name") or kind in (None, "PartialObjectMetadata", "Status"):
        return None
    group = str(document.get("apiVersion") or "").rpartition("/")[0]
    return group, str(kind), str(metadata.get("namespace") or ""), str(metadata["name"])


def _decoded(data: bytes) -> Any:
    try:
        return decode_json(data) if data else None
    except DecodeError:
        return None


def _slim(document: JsonObject, manager: str) -> JsonObject:
    """Return an object with only those managed fields that decide what an apply of the operator does."""
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        return document
    entries = metadata.get("managedFields")
    own = [one for one in entries or () if (one.get("manager"), one.get("operation")) == (manager, "Apply")]
    kept = {name: value for name, value in metadata.items() if name != "managedFields"}
    return {**document, "metadata": {**kept, **({"managedFields": own} if own else {})}}


class Masking:
    """Replaces secrets in the documents of one recording."""

    def __init__(self, redactor: Redactor | None, values: Iterable[tuple[str, bytes]]) -> None:
        #: What masks the contents of Secrets; ``None`` if the process knows none.
        self._redactor = redactor
        #: What stands for a value of a Secret in an object that was read.
        self._placeholders: dict[str, str] = {}
        #: Texts that are masked everywhere: the same values, and those of fields that are named like a password.
        self._hidden: set[str] = set()
        #: Names of objects, which are public.
        self._names: set[str] = set()
        for name, value in values:
            self._hide(name, value)

    def learn(self, document: Any, *, is_confidential: bool) -> None:
        """Remember what has to be replaced: values of a confidential object, and of fields named like a password."""
        if is_confidential:
            for name, value in secrets_in(document):
                self._hide(name, value)
            return
        for name, one in _named_values(document):
            if (
                is_confidential_name(name)
                and one.__class__ is str
                and len(one) >= REMEMBERED
                and one not in self._names
            ):
                self._hidden.add(one)

    def keep_names(self, documents: Iterable[JsonObject], names: Iterable[str] = ()) -> None:
        """Keep the names of these objects also in fields that are named like a password: `credentials: my-secret`."""
        self._names.update(names)
        for document in documents:
            key = _key_of(document)
            if key is not None:
                self._names.add(key[-1])

    def _hide(self, name: str, value: bytes) -> None:
        if len(value) >= SHORTEST:
            text, coded = value.decode("utf-8", "replace"), b64encode(value).decode()
            self._placeholders.setdefault(text, _placeholder(name, encoded=False))
            self._placeholders.setdefault(coded, _placeholder(name, encoded=True))
            self._hidden |= {text, coded, value.hex()}

    def path(self, path: str) -> str:
        """Return a path without secrets; its words are public."""
        return path if self._redactor is None else self._redactor.name(path)

    def input(self, document: JsonObject, *, is_confidential: bool) -> JsonObject:
        """Return an object that was read."""
        if is_confidential:
            return self._with_placeholders(document)
        found: JsonObject = self._masked(document, self._placeholders)
        return found

    def output(self, body: Any, *, is_confidential: bool) -> Any:
        """Return the body of a request."""
        if not is_confidential:
            return self.value(body)
        return self._with_placeholders(body) if isinstance(body, dict) else MASK if body is not None else None

    def value(self, value: Any) -> Any:
        """Return a JSON value."""
        return self._masked(value, {})

    def _with_placeholders(self, document: JsonObject) -> JsonObject:
        """Return an object of a confidential kind: the names of its values, but not the values."""
        shown = ("apiVersion", "kind", "metadata", "type", "immutable")
        kept = {name: self.value(value) for name, value in document.items() if name in shown}
        for part in ("data", "stringData"):
            if isinstance(values := document.get(part), dict):
                kept[part] = {name: _placeholder(name, encoded=part == "data") for name in values}
        return kept

    def _text(self, text: str, placeholders: dict[str, str]) -> str:
        # The longest first: one may contain another.
        for secret in sorted(filter(text.__contains__, placeholders), key=len, reverse=True):
            text = text.replace(secret, placeholders[secret])
        for secret in sorted(filter(text.__contains__, self._hidden), key=len, reverse=True):
            text = text.replace(secret, MASK)
        return without_credentials(text if self._redactor is None else self._redactor.text(text))

    def _name(self, name: str, placeholders: dict[str, str]) -> str:
        """Return a name; short values are kept, for they are words there, and objects are found by their names."""
        is_long = any(len(secret) >= REMEMBERED and secret in name for secret in self._hidden)
        return self._text(name, placeholders) if is_long else self.path(name)

    def _masked(self, value: Any, placeholders: dict[str, str]) -> Any:
        if value.__class__ is str:
            return self._text(value, placeholders)
        if value.__class__ is list:
            return [self._masked(one, placeholders) for one in value]
        if value.__class__ is int or value.__class__ is float:
            masked = self._text(str(value), placeholders)
            return value if masked == str(value) else masked
        if value.__class__ is not dict:
            return value
        hides_value = _is_named_confidentially(value)
        return {
            self._text(name, placeholders): MASK
            if one.__class__ is str
            and one
            and one not in self._names
            and (is_confidential_name(name) or (hides_value and name == _VALUE))
            else self._name(one, placeholders)
            if one.__class__ is str and name in _NAMES
            else self._masked(one, placeholders)
            for name, one in value.items()
            if name != _LAST_APPLIED
        }


def _names_read(reconcile: Reconcile) -> Iterator[str]:
    """Yield the names of the objects that a run looked for, also of those that it did not find."""
    return (read.object.name for read in reconcile.reads if read.object is not None)


def _named_values(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield every value of a document with the name of its field, or of its element for ``value``."""
    if value.__class__ is list:
        for one in value:
            yield from _named_values(one)
    elif value.__class__ is dict:
        for name, one in value.items():
            yield (str(value["name"]) if name == _VALUE and _is_named_confidentially(value) else name), one
            yield from _named_values(one)


def _is_named_confidentially(element: JsonObject) -> bool:
    named = element.get("name")
    return isinstance(named, str) and is_confidential_name(named)


def _placeholder(name: str, *, encoded: bool) -> str:
    text = f"replaced-{name}"
    return b64encode(text.encode()).decode() if encoded else text
