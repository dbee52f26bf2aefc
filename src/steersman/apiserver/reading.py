"""Get and list: objects as they are, or as they were at a version that is still known."""

import base64
from dataclasses import dataclass
from typing import Any

from steersman.apiserver.call import Answer, Call
from steersman.apiserver.interim_store import Record
from steersman.apiserver.ledger import Ledger
from steersman.apiserver.options import ListOptions, list_options, version_or_400, version_or_500
from steersman.apiserver.selection import Selection, select
from steersman.apiserver.served import Served
from steersman.apiserver.status import bad_request, expired, version_too_large
from steersman.objects.codec import encode_json
from steersman.schema.strict_decoding import decode_json as go_decode
from steersman.errors import DecodeError

Document = dict[str, Any]
_TOKEN_VERSION = "meta.k8s.io/v1"  # noqa: S105 - the format's name, no secret
_LOST = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


@dataclass(slots=True)
class Page:
    """What a list gives."""

    records: list[Record]
    version: int
    continue_token: str = ""
    remaining: int | None = None

    def metadata(self) -> Document:
        """Give the list's metadata."""
        made: Document = {"resourceVersion": str(self.version)}
        if self.continue_token:
            made["continue"] = self.continue_token
        if self.remaining is not None:
            made["remainingItemCount"] = self.remaining
        return made


@dataclass(frozen=True, slots=True)
class _Token:
    version: int
    start: str


def _encode_token(version: int, start: str) -> str:
    text = encode_json({"v": _TOKEN_VERSION, "rv": version, "start": start})
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def _decode_token(token: str) -> _Token:
    try:
        data = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        value = go_decode(data).value
    except DecodeError as error:
        raise _bad_token(str(error)) from None
    except ValueError:
        raise _bad_token(f"illegal base64 data at input byte {len(token)}") from None
    if value.__class__ is not dict or value.get("v") != _TOKEN_VERSION:
        shown = value.get("v", "") if value.__class__ is dict else ""
        raise _bad_token(f"server does not recognize this encoded version {shown}")
    version, start = value.get("rv", 0), value.get("start", "")
    if version.__class__ is not int or start.__class__ is not str or version == 0:
        raise _bad_token(f"incorrect encoded start resourceVersion (version {_TOKEN_VERSION})")
    if not start:
        raise _bad_token(f"encoded start key empty (version {_TOKEN_VERSION})")
    if start.startswith("..") or "/../" in start:
        raise _bad_token(start)
    return _Token(version, start)


def _bad_token(why: str) -> Exception:
    return bad_request(f"invalid continue token: continue key is not valid: {why}")


class Lister:
    """Finds the objects that a list is about."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def page(self, served: Served, selection: Selection, options: ListOptions) -> Page:
        """Give one page of objects; raises when the version that was asked for is gone or not there yet."""
        if options.continue_token:
            return self._continued(served, selection, options)
        exact = self._exact_version(options)
        version = self._ledger.version if exact is None else exact
        return self._cut(self._at(served, exact), selection, options.limit, version)

    def _exact_version(self, options: ListOptions) -> int | None:
        """Give the version of an exact list; ``None`` for one of the current state."""
        if not options.resource_version or options.resource_version == "0":
            return None
        version = version_or_400(options.resource_version)
        if version > self._ledger.version:
            raise version_too_large(version, self._ledger.version)
        is_exact = options.match == "Exact" or (options.limit > 0 and not options.match)
        return version if is_exact else None

    def _at(self, served: Served, version: int | None) -> list[Record]:
        found = self._ledger.records_at(served.stored_as, version)
        if found is None:
            raise expired(f"The provided resource version is too old: {version}")
        return found

    def _continued(self, served: Served, selection: Selection, options: ListOptions) -> Page:
        if options.resource_version and options.resource_version != "0":
            raise bad_request("specifying resource version is not allowed when using continue")
        token = _decode_token(options.continue_token)
        # A negative version asks for the rest of the list as it is now.
        exact = token.version if token.version > 0 else None
        found = self._ledger.records_at(served.stored_as, exact)
        if found is None:
            raise expired(_LOST)
        version = self._ledger.version if exact is None else exact
        rest = [record for record in found if _key(record, selection.namespace) >= token.start.removeprefix("/")]
        return self._cut(rest, selection, options.limit, version)

    @staticmethod
    def _cut(records: list[Record], selection: Selection, limit: int, version: int) -> Page:
        if selection.is_everything and selection.namespace is None:
            matching = records
        else:
            matching = [record for record in records if selection.matches(record)]
        if not limit or len(matching) <= limit:
            return Page(matching, version)
        shown = matching[:limit]
        start = _key(shown[-1], selection.namespace) + "\0"
        if selection.namespace is not None:
            start = f"/{start}"
        remaining = len(matching) - limit if selection.is_everything else None
        return Page(shown, version, _encode_token(version, start), remaining)


def _key(record: Record, namespace: str | None) -> str:
    """Give the key by which lists are ordered, below the namespace that is listed."""
    if namespace is None and record.namespace:
        return f"{record.namespace}/{record.name}"
    return record.name


class ReadingVerbs:
    """Answers gets and lists."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lister = Lister(ledger)

    def get(self, call: Call) -> Answer:
        """Answer a GET of one object."""
        served = call.served
        if wanted := call.query.text("resourceVersion"):
            version = version_or_500(wanted)
            if version > self._ledger.version:
                raise version_too_large(version, self._ledger.version)
        record = self._ledger.get(served, call.info.namespace, call.info.name)
        if record is None:
            raise served.not_found(call.info.name)
        return Answer(200, self._ledger.raw(served, record))

    def list(self, call: Call) -> tuple[Page, Selection]:
        """Find what a GET of a collection asks for."""
        options = list_options(call.query)
        selection = select(call.served, call.info.namespace or None, options)
        return self._lister.page(call.served, selection, options), selection

    def list_body(self, served: Served, page: Page) -> bytes:
        """Write a list as JSON."""
        raws = [self._ledger.raw(served, record) for record in page.records]
        metadata = page.metadata()
        if served.builtin:
            cut = len(served.prefix)
            items = b",".join(b"{" + raw[cut:] for raw in raws)
            head = f'{{"kind":"{served.list_kind}","apiVersion":"{served.api_version}","metadata":'
            return head.encode() + encode_json(metadata) + b',"items":[' + items + b"]}"
        metadata = {"continue": "", **metadata}
        tail = f'],"kind":"{served.list_kind}","metadata":'.encode() + encode_json(metadata) + b"}"
        return f'{{"apiVersion":"{served.api_version}","items":['.encode() + b",".join(raws) + tail
