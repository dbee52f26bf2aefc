"""`Strategy`: the rules of one kind in one version, as the generic machinery asks for them.

The machinery knows verbs, versions, finalizers and watches; a strategy knows what an object of its kind means: how it
is read, what is filled in, what may change, what is refused. Built-in kinds and custom resources each have their own.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from msgspec import Struct

from steersman.apiserver.resources.columns import Column
from steersman.apiserver.resources.request_context import RequestContext
from steersman.json_types import JsonObject
from steersman.validation.field_errors import ValidationResult

_MOST_ERRORS = 100


class ReadObject(Struct, frozen=True, gc=False):
    """An object that a strategy has read from a document."""

    obj: JsonObject
    #: Errors about fields that the kind does not have: warnings, or a rejection when the client is strict.
    unknown: Sequence[str] = ()
    #: Whether the object has marks of maps and lists that were given empty; see ``golang/empty_values``.
    has_marks: bool = False

    def __repr__(self) -> str:
        return f"ReadObject(unknown={self.unknown!r})"


def strict_errors(duplicates: Sequence[str], unknown: Sequence[str]) -> list[str]:
    """Return the errors of strict decoding, each once; like kube-apiserver's decoder stop after a hundred."""
    return list(islice(dict.fromkeys((*duplicates, *unknown)), _MOST_ERRORS)) if duplicates or unknown else []


class Strategy(ABC):
    """The rules of one kind; the defaults are those of most built-in kinds."""

    #: Whether an update without a resourceVersion is accepted.
    unconditional_update = True
    #: Whether an update of a missing object creates it.
    create_on_update = False
    #: Whether a successful delete answers with the object instead of a Status.
    answers_delete_with_object = False
    #: Whether an object that is being deleted shows its grace period.
    tells_grace = True
    #: Whether objects go through phases when they are deleted, as namespaces do.
    goes_by_phase = False
    #: Whether dependents are orphaned when a delete names no policy.
    orphans_by_default = False
    #: Whether an object may become larger than what was sent: a schema fills in defaults.
    has_defaults = False
    #: Bytes in every stored object that has hidden fields; see `shown`.
    hides = b""
    #: Objects written before this version of the store were written under other rules.
    rules_since = 0
    #: The fields (as a FieldsV1 tree) that an endpoint never owns, by subresource; see server-side apply.
    reset_fields: Mapping[str, JsonObject] = {}

    @abstractmethod
    def read(self, document: JsonObject, *, marks_empty: bool = False) -> ReadObject:
        """Read a document as this kind: unknown fields are dropped, defaults are filled in.

        With ``marks_empty`` maps and lists that were given empty are marked, where the kind's rules distinguish them
        from absent ones. Raises `WireTypeError` where a value has the wrong type. The document may be changed.
        """

    @abstractmethod
    def reread(self, stored: JsonObject) -> JsonObject:
        """Return a stored document as it is served now: the rules may have changed since it was written."""

    def shown(self, obj: JsonObject) -> JsonObject:
        """Return an object without the fields that only the client that wrote it may see; the caller may change it."""
        return obj

    def to_stored(self, obj: JsonObject) -> JsonObject:
        """Return an object in the version in which its kind is stored."""
        return obj

    def kept(self, stored: JsonObject) -> JsonObject:
        """Return the fields of an object that the stored version has."""
        return stored

    def from_stored(self, stored: JsonObject, api_version: str) -> JsonObject:
        """Return a stored object in another served version."""
        return {**stored, "apiVersion": api_version}

    def prepare(self, stored: list[JsonObject]) -> None:
        """Fetch the conversions of many stored objects in one call; only needed with a conversion webhook."""
        del stored

    def admit_create(self, obj: JsonObject) -> None:
        """Change a new object as the kind's admission plugins do, before mutating webhooks see it.

        Only called if there are webhooks; ``prepare_create`` does the same again, for what they changed.
        """
        del obj

    @abstractmethod
    def prepare_create(self, obj: JsonObject, subresource: str, context: RequestContext) -> None:
        """Set and remove what the client cannot decide, before a new object is validated.

        ``subresource`` names the part by whose update the object is created.
        """

    def creates_on_update(self, subresource: str) -> bool:
        """Return whether an update of a missing object, or of a part of it, creates it."""
        return self.create_on_update and not subresource

    def fill_in(self, obj: JsonObject, *, is_merged: bool) -> bool:
        """Fill in what is otherwise filled in when an object is read from the store; return whether that changed it.

        ``is_merged``: the server merged the object from the stored one, so it was never read from a request.
        """
        del obj, is_merged
        return False

    @abstractmethod
    def prepare_update(self, obj: JsonObject, old: JsonObject, subresource: str, context: RequestContext) -> None:
        """Set and remove what the client cannot decide, before a changed object is validated."""

    @abstractmethod
    def check(self, obj: JsonObject, old: JsonObject | None, subresource: str) -> ValidationResult:
        """Validate an object and its metadata; ``old`` is ``None`` for a new one."""

    def name_faults(self, name: str, prefix: bool) -> list[str]:
        """Return what is wrong with a name; ``prefix`` if it is the prefix of a generated name."""
        from steersman.validation.object_meta import subdomain_name_faults  # noqa: PLC0415 - the default of most kinds

        return subdomain_name_faults(name, prefix)

    def fields(self, obj: JsonObject) -> dict[str, str]:
        """Return the fields that field selectors can select, beyond name and namespace."""
        del obj
        return {}

    def field_label_error(self, label: str) -> str:
        """Return the error about an unsupported label of a field selector; empty if it is supported."""
        if label in ("metadata.name", "metadata.namespace"):
            return ""
        return f'"{label}" is not a known field selector: only "metadata.name", "metadata.namespace"'

    @abstractmethod
    def ownership_type(self) -> Any:
        """Return the type tree of managed fields; ``None`` if the kind has none."""

    def openapi_schema(self) -> JsonObject | None:
        """Return the schema of a custom resource; built-in kinds have theirs in the type table."""
        return None

    @abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """Return the columns in which a table shows objects of this kind."""

    def typed(self, document: JsonObject, served: Any) -> JsonObject:
        """Return a document with its apiVersion and kind, which clients may leave out; reject other types."""
        return {**document, "apiVersion": served.api_version, "kind": served.kind}

    def applied(self, merged: JsonObject) -> ReadObject:
        """Read the result of an apply as this kind: defaulted, but not otherwise cleaned."""
        return ReadObject(merged)

    def strategic_merge(self, live: JsonObject, patch: JsonObject) -> JsonObject:
        """Apply a strategic merge patch; only built-in kinds support it."""
        raise NotImplementedError

    def empty_object(self) -> JsonObject:
        """Return the fields that every object of this kind has."""
        return {}

    def may_finish(self, obj: JsonObject) -> bool:
        """Return whether an object without finalizers may be removed; a namespace has more of them in its spec."""
        del obj
        return True

    def check_delete(self, name: str) -> None:
        """Reject the delete of a protected object."""
        del name

    def before_delete(self, obj: JsonObject) -> None:
        """Change an object that is about to be deleted, for example to add a finalizer."""
        del obj

    def marked_for_deletion(self, obj: JsonObject) -> None:
        """Change an object that was marked as being deleted."""
        del obj

    def grace_period(self, obj: JsonObject, asked: int | None) -> int | None:
        """Return the grace period in seconds; ``None`` for kinds without one."""
        del obj, asked
        return None

    def after_commit(self, obj: JsonObject | None, old: JsonObject | None) -> None:
        """Note a committed write; ``obj`` is ``None`` for a delete."""
        del obj, old
