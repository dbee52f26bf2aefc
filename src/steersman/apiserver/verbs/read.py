"""Get and list: objects as they are now, or at an older version that is still stored."""

import base64
from collections.abc import Callable
from dataclasses import replace
from typing import cast

from steersman.apiserver.messages.api_request import ApiRequest, ApiResponse
from steersman.apiserver.messages.options import ListOptions, list_options, version_or_400, version_or_500
from steersman.apiserver.messages.rendering import list_metadata
from steersman.apiserver.messages.selection import Selection, select
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.resources.ownership import refusal_of
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.apiserver.status import Refusal, bad_request, version_too_large
from steersman.apiserver.storage.continue_token import ContinueToken
from steersman.apiserver.storage.store import ContinueExpired, Match, Page, PageQuery
from steersman.errors import ApiError, DecodeError
from steersman.golang.strict_json import decode_json as go_decode
from steersman.objects.codec import encode_json

_TOKEN_VERSION = "meta.k8s.io/v1"  # noqa: S105 - the format's name, no secret


def _decode_token(token: str) -> tuple[int, str]:
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
    return version, start


def _bad_token(why: str) -> Exception:
    return bad_request(f"invalid continue token: continue key is not valid: {why}")


class Lister:
    """Selects the objects of a list."""

    def __init__(self, objects: ObjectStore, lag: Callable[[], int] = int) -> None:
        self._objects = objects
        #: Test hook: number of versions by which lists with ``resourceVersion=0`` are out of date.
        self._lag = lag

    def page(self, served: ServedResource, selection: Selection, options: ListOptions) -> Page:
        """Return one page of objects; reject a version that is too old or not reached yet."""
        asked = PageQuery(
            namespace=selection.namespace or "",
            selector=None if selection.is_everything else selection.matches,
            # A list from the cache ignores the limit.
            limit=0 if options.resource_version == "0" and not options.continue_token else options.limit,
            continue_token=self._token(options),
            resource_version=self._version(options),
            match=cast("Match", options.match),
        )
        if options.resource_version == "0" and (lag := self._lag()):
            asked = replace(asked, resource_version=str(max(self._objects.version - lag, 1)), match="Exact")
        if asked.continue_token or asked.resource_version:
            self._objects.compact()
        try:
            return self._objects.store.list(served.stored_as, asked)
        except ContinueExpired as error:
            refusal = refusal_of(error)
            raise Refusal(410, "Expired", refusal.message, continue_token=error.continue_token) from None
        except ApiError as error:
            raise refusal_of(error) from None

    def _version(self, options: ListOptions) -> str:
        if not options.resource_version or options.continue_token:
            return ""
        version = version_or_400(options.resource_version)
        if version > self._objects.version:
            raise version_too_large(version, self._objects.version)
        return options.resource_version

    @staticmethod
    def _token(options: ListOptions) -> str:
        if not options.continue_token:
            return ""
        if options.resource_version and options.resource_version != "0":
            raise bad_request("specifying resource version is not allowed when using continue")
        version, start = _decode_token(options.continue_token)
        return ContinueToken(version, start.removeprefix("/")).encode()


class ReadingVerbs:
    """Answers gets and lists."""

    def __init__(self, objects: ObjectStore, lag: Callable[[], int] = int) -> None:
        self._objects = objects
        self._lister = Lister(objects, lag)

    def get(self, request: ApiRequest) -> ApiResponse:
        """Answer a GET of one object."""
        served = request.served
        if wanted := request.query.text("resourceVersion"):
            version = version_or_500(wanted)
            if version > self._objects.version:
                raise version_too_large(version, self._objects.version)
        record = self._objects.get(served, request.info.namespace, request.info.name)
        if record is None:
            raise served.not_found(request.info.name)
        return ApiResponse(200, self._objects.raw(served, record, shows_all=bool(request.info.subresource)))

    def list(self, request: ApiRequest) -> tuple[Page, Selection]:
        """Return the page that a GET of a collection asks for."""
        options = list_options(request.query)
        selection = select(request.served, request.info.namespace or None, options)
        page = self._lister.page(request.served, selection, options)
        self._objects.prepare(request.served, page.records)
        return page, selection

    def list_body(self, served: ServedResource, page: Page) -> bytes:
        """Return a list as JSON."""
        raws = [self._objects.raw(served, record) for record in page.records]
        metadata = list_metadata(page)
        if served.builtin:
            cut = len(served.prefix)
            items = b",".join(b"{" + raw[cut:] for raw in raws)
            head = f'{{"kind":"{served.list_kind}","apiVersion":"{served.api_version}","metadata":'
            return head.encode() + encode_json(metadata) + b',"items":[' + items + b"]}"
        metadata = {"continue": "", **metadata}
        tail = f'],"kind":"{served.list_kind}","metadata":'.encode() + encode_json(metadata) + b"}"
        return f'{{"apiVersion":"{served.api_version}","items":['.encode() + b",".join(raws) + tail
