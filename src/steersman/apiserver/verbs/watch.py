"""Watch: the options of a watch, and the form in which its events are sent."""

from collections.abc import Awaitable
from dataclasses import replace
from datetime import UTC, datetime

from steersman.apiserver.custom.conversion import ConvertedStream
from steersman.apiserver.custom.strategy import CustomStrategy
from steersman.apiserver.messages.api_request import ApiRequest
from steersman.apiserver.messages.negotiation import Form
from steersman.apiserver.messages.options import ListOptions, version_or_500
from steersman.apiserver.messages.rendering import Rendering
from steersman.apiserver.messages.selection import select
from steersman.apiserver.messages.table import TableStyle, partial_metadata, table
from steersman.apiserver.resources.columns import Column
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.apiserver.status import Refusal, version_too_large
from steersman.apiserver.storage.record import Record
from steersman.apiserver.watch.hub import Variant, Watcher, WatchHub, expired_status, frame
from steersman.clock import Clock
from steersman.json_types import JsonObject
from steersman.objects.codec import encode_json
from steersman.protocol.http import Exchange, Stream
from steersman.randomness import Randomness

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
#: A watch without a time limit ends somewhere in this range of seconds.
_SHORTEST, _LONGEST = 1800.0, 3600.0


class Watching:
    """Opens watches."""

    def __init__(
        self, objects: ObjectStore, hub: WatchHub, rendering: Rendering, clock: Clock, randomness: Randomness
    ) -> None:
        self._objects = objects
        self._hub = hub
        self._rendering = rendering
        self._clock = clock
        self._randomness = randomness

    def watch(self, request: ApiRequest, options: ListOptions, exchange: Exchange) -> Awaitable[None] | None:
        """Answer a watch with a stream of events; only objects that a webhook converts have to be waited for."""
        served = request.served
        selection = select(served, request.info.namespace or None, options)
        version = version_or_500(options.resource_version) if options.resource_version else 0
        wants_initial = self._wants_initial(options, version)
        stream_headers = [("content-type", "application/json"), ("cache-control", "no-cache, private")]
        if options.send_initial and version > self._objects.version:
            self._refuse(exchange, stream_headers, version_too_large(version, self._objects.version))
            return None
        if version and not wants_initial and self._objects.since(served.stored_as, version) is None:
            stream = exchange.stream(200, stream_headers)
            stream.write(frame("ERROR", expired_status(version, self._objects.version)))
            stream.close()
            return None
        if request.form.transform == "PartialObjectMetadataList":
            # Kubernetes cannot encode an event as a list, and sends nothing.
            exchange.stream(200, stream_headers).close()
            return None
        cursor = version if version and not wants_initial else self._objects.version
        stream, variant = exchange.stream(200, stream_headers), self._variant(request)
        converted = _converted(served, stream, variant) if served.is_converted else None
        initial = None
        if wants_initial:
            found = self._objects.records(served, request.info.namespace or None)
            initial = iter([record for record in found if selection.matches(record)])
        watcher = Watcher(
            stream=converted or stream,
            resource=served.stored_as,
            selection=selection,
            variant=variant if converted is None else replace(variant, key=("stored",), render=_stored),
            cursor=cursor,
            bookmarks=options.bookmarks,
            initial=initial,
            tells_initial_end=wants_initial and options.bookmarks,
        )
        timeout = options.timeout
        limit = float(timeout) if timeout else self._randomness.between(_SHORTEST, _LONGEST)
        self._hub.add(watcher, limit)
        return None if converted is None else converted.run()

    @staticmethod
    def _wants_initial(options: ListOptions, version: int) -> bool:
        if options.send_initial is not None:
            return options.send_initial
        return version == 0

    @staticmethod
    def _refuse(exchange: Exchange, headers: list[tuple[str, str]], refusal: Refusal) -> None:
        stream = exchange.stream(200, headers)
        stream.write(frame("ERROR", encode_json(refusal.document())))
        stream.close()

    def _variant(self, request: ApiRequest) -> Variant:
        form, served = request.form, request.served
        key = (served.api_version, str(served.strategy.rules_since), form.transform, form.version)
        if form.transform == "Table":
            return self._table_variant(request, form, (*key, request.query.text("includeObject")))
        if form.transform:
            return self._partial_variant(served, form, key)

        def render(record: Record, _is_first: bool) -> bytes:
            return self._objects.raw(served, record)

        def bookmark(version: int, is_end: bool) -> bytes:
            return encode_json(_bookmark(served.kind, served.api_version, version, is_end=is_end))

        return Variant(key, render, bookmark)

    def _partial_variant(self, served: ServedResource, form: Form, key: tuple[str, ...]) -> Variant:
        def render(record: Record, _is_first: bool) -> bytes:
            return encode_json(partial_metadata(self._objects.document(served, record), form.version))

        def bookmark(version: int, is_end: bool) -> bytes:
            api_version = f"meta.k8s.io/{form.version}"
            return encode_json(_bookmark("PartialObjectMetadata", api_version, version, is_end=is_end))

        return Variant(key, render, bookmark)

    def _table_variant(self, request: ApiRequest, form: Form, key: tuple[str, ...]) -> Variant:
        style = self._rendering.style(request, form)

        def render(record: Record, is_first: bool) -> bytes:
            obj = self._objects.document(request.served, record)
            return encode_json(_table([obj], str(record.version), is_first=is_first))

        def bookmark(version: int, is_end: bool) -> bytes:
            obj = _bookmark(request.served.kind, request.served.api_version, version, is_end=is_end)
            return encode_json(_table([obj], str(version), is_first=False, is_bookmark=True))

        def _table(objects: list[JsonObject], version: str, *, is_first: bool, is_bookmark: bool = False) -> JsonObject:
            shown = [] if is_bookmark else objects
            made = table(shown, {"resourceVersion": version}, style, self._clock.now())
            if not is_first:
                made["columnDefinitions"] = None
            if is_bookmark:
                made["rows"] = [_bookmark_row(objects[0]["metadata"], style)]
            return made

        return Variant(key, render, bookmark, is_special_first=True)


def _stored(record: Record, _is_first: bool) -> bytes:
    """Return an object as it is stored; the stream converts it."""
    return record.raw


def _converted(served: ServedResource, stream: Stream, variant: Variant) -> ConvertedStream | None:
    """Return a stream that converts objects to the watched version."""
    converter = served.strategy.converter if isinstance(served.strategy, CustomStrategy) else None
    if converter is None:
        return None

    def shape(obj: JsonObject, is_first: bool) -> bytes:
        return variant.render(Record(obj, int(obj["metadata"]["resourceVersion"]), {}), is_first)

    def fetch(objects: list[JsonObject]) -> Awaitable[list[JsonObject]]:
        return converter.fetch(objects, served.api_version)

    return ConvertedStream(stream, fetch, shape)


def _bookmark_row(metadata: JsonObject, style: TableStyle) -> JsonObject:
    """Return the row of a bookmark, an object with only a version."""
    empty: JsonObject = {"metadata": {"name": "", **metadata}, "spec": {}, "status": {}}
    cells = [_cell_of_nothing(column, empty) for column in style.columns]
    return {"cells": cells, "object": partial_metadata({"metadata": metadata}, style.version)}


def _cell_of_nothing(column: Column, empty: JsonObject) -> object:
    return column.cell(empty, datetime.fromtimestamp(0, UTC))


def _bookmark(kind: str, api_version: str, version: int, *, is_end: bool) -> JsonObject:
    metadata: JsonObject = {"resourceVersion": str(version)}
    if is_end:
        metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
    return {"kind": kind, "apiVersion": api_version, "metadata": metadata}
