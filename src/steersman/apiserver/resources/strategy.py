"""`Strategy`: the rules of one kind in one version, as the generic machinery asks for them.

The machinery knows verbs, versions, finalizers and watches; a strategy knows what an object of its kind means: how it
is read, what is filled in, what may change, what is refused. Built-in kinds and custom resources each have their own.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from itertools import islice
from typing import Any

from msgspec import Struct

from steersman.apiserver.resources.columns import Column
from steersman.apiserver.resources.request_context import RequestContext
from steersman.structural.verdict import Verdict

Document = dict[str, Any]
_MOST_FAULTS = 100


class Reading(Struct):
    """What was noticed while an object was read."""

    #: Complaints about unknown and duplicate fields: warnings, or the reason of a refusal when the client is strict.
    strict: list[str] = []
    warnings: list[str] = []
    #: Whether the reader can do with marks of what was given empty (see `empties`), and whether there are any.
    keeps_empty: bool = False
    has_empty: bool = False

    @property
    def faults(self) -> list[str]:
        """What strict decoding says, each once; like kube-apiserver's decoder it gives up after a hundred."""
        return list(islice(dict.fromkeys(self.strict), _MOST_FAULTS))


class Strategy(ABC):
    """The rules of one kind; the defaults are those of most built-in kinds."""

    #: Whether an update without a resource version overwrites whatever is there.
    unconditional_update = True
    #: Whether an update of a missing object creates it.
    create_on_update = False
    #: Whether a successful delete answers with the object instead of a Status.
    answers_delete_with_object = False
    #: Whether an object that waits for its end says after how many seconds it goes.
    tells_grace = True
    #: Whether objects go through phases when they are deleted, as namespaces do.
    goes_by_phase = False
    #: Whether dependents are orphaned when a delete names no policy.
    orphans_by_default = False
    #: Whether an object may become larger than what was sent: a schema fills in defaults.
    has_defaults = False
    #: What stands in every stored object of which some is not served; see `shown`.
    hides = b""
    #: Objects written before this version of the store were written under other rules.
    rules_since = 0
    #: The fields (as a FieldsV1 tree) that an endpoint never owns, by subresource; see server-side apply.
    reset_fields: Mapping[str, Document] = {}

    @abstractmethod
    def read(self, document: Document, reading: Reading) -> Document:
        """Read a document as this kind: unknown fields are dropped and noted, defaults are filled in.

        Raises `WireTypeError` where a value has the wrong type. The document may be changed.
        """

    @abstractmethod
    def reread(self, stored: Document) -> Document:
        """Give a stored document as it is served now: the rules may have changed since it was written."""

    def shown(self, obj: Document) -> Document:
        """Give an object without what only the store knows of it; writers meet it whole. It may be changed."""
        return obj

    def to_stored(self, obj: Document) -> Document:
        """Give an object in the version in which its kind is stored."""
        return obj

    def kept(self, stored: Document) -> Document:
        """Give what is kept of an object in the stored version: what has no place there is lost."""
        return stored

    def from_stored(self, stored: Document, api_version: str) -> Document:
        """Give a stored object in another served version."""
        return {**stored, "apiVersion": api_version}

    def prepare(self, stored: list[Document]) -> None:
        """Make sure that many stored objects can be read at once; only what is converted outside needs it."""
        del stored

    @abstractmethod
    def prepare_create(self, obj: Document, subresource: str, context: RequestContext) -> None:
        """Set and remove what the client cannot decide, before a new object is validated.

        ``subresource`` names the part by whose update the object is created.
        """

    def creates_on_update(self, subresource: str) -> bool:
        """Tell whether an update of a missing object, or of a part of it, creates it."""
        return self.create_on_update and not subresource

    def fill_in(self, obj: Document, *, is_merged: bool) -> bool:
        """Give an object what only reading it from the store gives it; tell whether there was something to give.

        ``is_merged`` tells that the server has made the object of the stored one; it was never read from a request.
        """
        del obj, is_merged
        return False

    @abstractmethod
    def prepare_update(self, obj: Document, old: Document, subresource: str, context: RequestContext) -> None:
        """Set and remove what the client cannot decide, before a changed object is validated."""

    @abstractmethod
    def check(self, obj: Document, old: Document | None, subresource: str) -> Verdict:
        """Judge an object, metadata included; ``old`` is ``None`` for a new one."""

    def name_faults(self, name: str, prefix: bool) -> list[str]:
        """Complain about a name; ``prefix`` when only its beginning is known."""
        from steersman.validation.object_meta import subdomain_name_faults  # noqa: PLC0415 - the default of most kinds

        return subdomain_name_faults(name, prefix)

    def fields(self, obj: Document) -> dict[str, str]:
        """Give what field selectors can ask for, beyond name and namespace."""
        del obj
        return {}

    def field_label_error(self, label: str) -> str:
        """Complain about a field selector's label; empty when it is supported."""
        if label in ("metadata.name", "metadata.namespace"):
            return ""
        return f'"{label}" is not a known field selector: only "metadata.name", "metadata.namespace"'

    @abstractmethod
    def ownership_type(self) -> Any:
        """Give the type tree by which owners of fields are tracked; ``None`` when they are not."""

    def openapi_schema(self) -> Document | None:
        """Give the schema of a custom resource; built-in kinds have theirs in the type table."""
        return None

    @abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """Return the columns in which a table shows objects of this kind."""

    def typed(self, document: Document, served: Any) -> Document:
        """Give a document with its apiVersion and kind, which clients may leave out; refuse those of others."""
        return {**document, "apiVersion": served.api_version, "kind": served.kind}

    def applied(self, merged: Document, reading: Reading) -> Document:
        """Give the result of an apply as an object of this kind: defaulted, but not otherwise cleaned."""
        del reading
        return merged

    def strategic_merge(self, live: Document, patch: Document) -> Document:
        """Apply a strategic merge patch; only built-in kinds know how."""
        raise NotImplementedError

    def empty_object(self) -> Document:
        """Give what an object of this kind always has, even when nothing was set."""
        return {}

    def may_finish(self, obj: Document) -> bool:
        """Tell whether an object without finalizers may go; a namespace has others in its spec."""
        del obj
        return True

    def check_delete(self, name: str) -> None:
        """Refuse to delete what may not go."""
        del name

    def before_delete(self, obj: Document) -> None:
        """Change an object that is about to be deleted, such as to hold it back for a while."""
        del obj

    def marked_for_deletion(self, obj: Document) -> None:
        """Change what a kind shows while it waits for its end."""
        del obj

    def grace_period(self, obj: Document, asked: int | None) -> int | None:
        """Give the seconds an object lives on after its delete; ``None`` when the kind knows no such thing."""
        del obj, asked
        return None

    def after_commit(self, obj: Document | None, old: Document | None) -> None:
        """Take note of a write that happened: ``obj`` is ``None`` for a delete."""
        del obj, old
