"""`WriteVerbs`: the verbs that write an object or one of its subresources; ``Client`` and its ``status`` have them."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from steersman.client.interfaces import NO_PRECONDITIONS, O, Ref, Written
from steersman.client.session import Session, read_as
from steersman.client.update_patch import change_since_read, document_now
from steersman.errors import Conflict
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_as, encode_json, to_json
from steersman.objects.identity import ObjectKey
from steersman.objects.resource import KubeObject, Unstructured
from steersman.protocol.options import ApplyOptions, Preconditions, WriteOptions
from steersman.protocol.requests import PatchType, Requests

#: Attempts of a change against other writers, and seconds in between: client-go's settings.
_CONFLICTS, _CONFLICT_SECONDS = 5, 0.01

#: Metadata that the server sets: not part of an intent.
_SET_BY_SERVER = (
    "managedFields",
    "resourceVersion",
    "uid",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
)


class _Answer(Struct):
    metadata: Written


class WriteVerbs:
    """Write objects, or with a ``subresource`` only that part of them, under one field manager."""

    def __init__(self, session: Session, options: WriteOptions, *, subresource: str = "") -> None:
        self._session = session
        self._options = options
        self._subresource = subresource

    def _write_options(self, options: WriteOptions | None) -> WriteOptions:
        """Return the options of a call with this client's defaults; the client's dry run cannot be turned off."""
        if options is None:
            return self._options
        return replace(
            options,
            field_manager=options.field_manager or self._options.field_manager,
            dry_run=options.dry_run or self._options.dry_run,
        )

    async def update(self, obj: O, *, options: WriteOptions | None = None) -> O:
        """Send what changed since the object was read, as a patch; raise ``Conflict`` if it changed on the server.

        Fields that the class does not know are kept. Nothing is sent if nothing changed. An object that was not read
        cannot be updated: ``get`` it first, or use ``apply`` or ``replace``.
        """
        requests, key = await self._session.locate(obj)
        patch = self._part(change_since_read(obj), requests)
        if not patch:
            return obj
        if obj.resource_version:
            patch.setdefault("metadata", {})["resourceVersion"] = obj.resource_version
        return await self._patch(obj, requests, key, patch, options)

    async def modify(
        self, target: O | Ref[O], change: Callable[[O], None], *, options: WriteOptions | None = None
    ) -> O:
        """Read an object, change it by a function, and update it; after a ``Conflict`` retry with a new read.

        The function may be called several times, each time with a new object. The last conflict is raised.
        """
        requests, key = await self._session.locate(target)
        tries = 0
        while True:
            obj = self._read(target, await self._session.send(requests.get(key)))
            change(obj)
            try:
                return await self.update(obj, options=options)
            except Conflict:
                tries += 1
                if tries == _CONFLICTS:
                    raise
            await self._session.clock.sleep(self._session.randomness.jitter(_CONFLICT_SECONDS, 0.1))

    async def replace(self, obj: O, *, options: WriteOptions | None = None) -> O:
        """Replace the whole object by this one; fields that were read and that its class does not know are kept."""
        requests, key = await self._session.locate(obj)
        body = encode_json(document_now(obj))
        request = requests.update(key, body, self._write_options(options), subresource=self._subresource)
        return self._read(obj, await self._session.send(request))

    async def patch(
        self,
        target: O | Ref[O],
        body: JsonObject | list[Any],
        *,
        patch_type: PatchType = PatchType.MERGE,
        options: WriteOptions | None = None,
    ) -> O:
        """Patch an object, whatever its resource version; for server-side apply use ``apply``."""
        requests, key = await self._session.locate(target)
        request = requests.patch(
            key, patch_type, encode_json(body), self._write_options(options), subresource=self._subresource
        )
        return self._read(target, await self._session.send(request))

    async def patch_for_version(self, target: KubeObject, body: JsonObject) -> Written:
        """Apply a merge patch and return only the metadata of the result: the rest of the response is not decoded."""
        requests, key = await self._session.locate(target)
        request = requests.patch(key, PatchType.MERGE, encode_json(body), self._options, subresource=self._subresource)
        return decode_as(_Answer, await self._session.send(request)).metadata

    async def apply(self, obj: O, *, force: bool = False, preconditions: Preconditions = NO_PRECONDITIONS) -> O:
        """Apply the fields that are set here on the server, and own them for this client's field manager.

        Raises a ``Conflict`` that names the managers that own one of them, unless forced. Fields that were applied
        before and are missing now are removed. If a precondition does not hold nothing is written: another resource
        version, or a uid without an object, raises ``Conflict``; an object of another uid raises ``Invalid`` at
        ``metadata.uid``. A missing object is created whatever resource version is required.
        """
        requests, key = await self._session.locate(obj)
        options = _apply_options(self._options, force=force)
        intent = _intent(obj)
        document = {**_identity(intent), **self._part(intent, requests)}
        if preconditions is not NO_PRECONDITIONS:
            document["metadata"] = {**document["metadata"], **_required(preconditions)}
        body = encode_json(document)
        request = requests.patch(key, PatchType.APPLY, body, options, subresource=self._subresource)
        return self._read(obj, await self._session.send(request))

    async def _patch(
        self, obj: O, requests: Requests, key: ObjectKey, patch: JsonObject, options: WriteOptions | None
    ) -> O:
        request = requests.patch(
            key, PatchType.MERGE, encode_json(patch), self._write_options(options), subresource=self._subresource
        )
        return self._read(obj, await self._session.send(request))

    def _part(self, document: JsonObject, requests: Requests) -> JsonObject:
        """Return the part of a document that is written here: the status, or everything else."""
        if self._subresource:
            return {name: value for name, value in document.items() if name == self._subresource}
        if "status" in requests.resource.subresources:
            return {name: value for name, value in document.items() if name != "status"}
        return document

    def _read(self, target: O | Ref[O], body: bytes) -> O:
        result: O = read_as(target, body)
        return result


@lru_cache(maxsize=64)
def _apply_options(options: WriteOptions, *, force: bool) -> ApplyOptions:
    """Return a client's options for apply; cached, because a client has only two of them."""
    return ApplyOptions(
        field_manager=options.field_manager,
        field_validation=options.field_validation,
        dry_run=options.dry_run,
        force=force,
    )


def _intent(obj: KubeObject | Unstructured) -> JsonObject:
    """Return the intent of an object: its document without the fields that only the server sets."""
    document = to_json(obj)
    metadata = {name: value for name, value in document.get("metadata", {}).items() if name not in _SET_BY_SERVER}
    return {**document, "metadata": metadata}


def _identity(document: JsonObject) -> JsonObject:
    """Return the part of a document that identifies its object."""
    metadata = {name: document["metadata"][name] for name in ("name", "namespace") if name in document["metadata"]}
    return {"apiVersion": document["apiVersion"], "kind": document["kind"], "metadata": metadata}


def _required(preconditions: Preconditions) -> dict[str, str]:
    """Return the metadata that makes the server check the preconditions of an apply."""
    required = {"uid": preconditions.uid, "resourceVersion": preconditions.resource_version}
    return {name: value for name, value in required.items() if value}
