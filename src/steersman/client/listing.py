"""Lists: one page, or all objects with pages fetched as needed."""

from collections.abc import AsyncIterator
from typing import Any

from msgspec.structs import replace

from steersman.client.session import Kind, Session, read_item
from steersman.errors import Expired
from steersman.objects.codec import ObjectList, RawList, decode_as
from steersman.objects.resource import PartialObjectMetadata
from steersman.protocol.list_watch import PAGE_SIZE
from steersman.protocol.options import ListOptions
from steersman.protocol.requests import Requests


async def read_page(session: Session, kind: Kind, namespace: str | None, options: ListOptions) -> ObjectList[Any]:
    """Return one page with its version and the token of the next."""
    requests = await session.requests(kind)
    raw = await _fetch(session, requests, session.scope(requests, namespace), options)
    return ObjectList(raw.metadata, [read_item(kind, bytes(item)) for item in raw.items or ()])


async def read_all(
    session: Session, kind: Kind, namespace: str | None, options: ListOptions, *, metadata_only: bool = False
) -> AsyncIterator[Any]:
    """Yield every object once, or its metadata, page by page.

    If the snapshot of the pages expires meanwhile, the rest comes from a new list: no object is yielded twice, and none
    is omitted that existed all the time.
    """
    requests = await session.requests(kind)
    scope = session.scope(requests, namespace)
    if metadata_only:
        requests, kind = Requests(requests.resource, metadata_only=True), PartialObjectMetadata
    options = replace(options, limit=options.limit or PAGE_SIZE)
    seen: set[tuple[str, str]] = set()
    while True:
        try:
            page = await _fetch(session, requests, scope, options)
        except Expired:
            if not options.continue_:
                raise
            options = replace(options, continue_="", limit=0)
            continue
        for item in page.items or ():
            obj = read_item(kind, bytes(item))
            if obj.key not in seen:
                seen.add(obj.key)
                yield obj
        token = page.metadata.continue_
        if not token:
            return
        # The token contains the version of the first page.
        options = replace(options, continue_=token, resource_version="", resource_version_match=None)


async def _fetch(session: Session, requests: Requests, namespace: str, options: ListOptions) -> RawList:
    return decode_as(RawList, await session.send(requests.list(namespace, options)))
