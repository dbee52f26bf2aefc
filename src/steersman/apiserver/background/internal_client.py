"""`InternalClient`: reads and writes objects for the controllers, by the same rules as the writes of any client."""

from dataclasses import dataclass, field
from typing import NamedTuple

from steersman.apiserver.messages.api_request import ApiRequest
from steersman.apiserver.messages.info import Query, RequestInfo
from steersman.apiserver.messages.options import DeleteOptions, WriteOptions
from steersman.apiserver.resources.catalog import Catalog
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.resources.request_context import RequestContexts, User
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.apiserver.storage.history import Event
from steersman.apiserver.storage.record import Record
from steersman.apiserver.verbs.delete import AdmittedDeletion, Deleting
from steersman.apiserver.verbs.write_path import Decoded, Existing, ObjectWriter, propose
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json
from steersman.protocol.http import Request

#: The user of all writes of controllers; the user agent is their field manager.
_CONTROLLER = User("system:kube-controller-manager", ("system:masters", "system:authenticated"))
_HEADERS = {"user-agent": "kube-controller-manager/v1.36"}
_WRITE = WriteOptions()


class Place(NamedTuple):
    """The address of an object."""

    resource: str
    namespace: str
    name: str


def place_of(event: Event) -> Place:
    """Return the address of the object of an event."""
    return Place(event.resource, event.record.namespace, event.record.name)


@dataclass(frozen=True, slots=True)
class Found:
    """An existing object: its resource, its record, and a copy to change."""

    served: ServedResource
    record: Record
    obj: JsonObject = field(repr=False)

    @property
    def metadata(self) -> JsonObject:
        """The metadata of the copy."""
        found: JsonObject = self.obj["metadata"]
        return found

    @property
    def finalizers(self) -> list[str]:
        """The finalizers of the object."""
        return list(self.metadata.get("finalizers") or ())


class InternalClient:
    """Finds, creates, updates and deletes objects of every kind."""

    def __init__(
        self,
        objects: ObjectStore,
        catalog: Catalog,
        contexts: RequestContexts,
        writer: ObjectWriter,
        deleting: Deleting,
    ) -> None:
        self.objects = objects
        self.catalog = catalog
        self._contexts = contexts
        self._writer = writer
        self._deleting = deleting
        self._by_stored_name: dict[str, ServedResource] = {}
        self._revision = -1

    def served(self, resource: str) -> ServedResource | None:
        """Return the resource with this stored name, in the stored version if that is served."""
        if self._revision != self.catalog.revision:
            self._revision = self.catalog.revision
            found: dict[str, ServedResource] = {}
            for served in self.catalog:
                if served.is_stored_form or served.stored_as not in found:
                    found[served.stored_as] = served
            self._by_stored_name = found
        return self._by_stored_name.get(resource)

    def find(self, place: Place) -> Found | None:
        """Return an object; ``None`` if it does not exist, or is not served any more."""
        served = self.served(place.resource)
        record = None if served is None else self.objects.get(served, place.namespace, place.name)
        if served is None or record is None:
            return None
        if self.objects.needs_webhook(served, record):
            # Controllers look at metadata only, and there is no request that could wait for a webhook.
            return Found(served, record, decode_json(record.raw))
        return Found(served, record, self.objects.document(served, record))

    def now(self) -> str:
        """Return the time as objects carry it."""
        return self._contexts.of(_CONTROLLER).now

    def create(self, resource: str, document: JsonObject) -> None:
        """Create an object."""
        served = self.served(resource)
        assert served is not None, "only built-in kinds are created"  # noqa: S101 - the callers' own constants
        metadata = document["metadata"]
        request = self._request(served, metadata.get("namespace", ""), metadata["name"])
        read = served.strategy.read({**document, "kind": served.kind, "apiVersion": served.api_version})
        self._writer.create(Decoded(request, _WRITE, read.obj))

    def update(self, found: Found, subresource: str = "") -> None:
        """Write a changed copy; an object that waits for nothing else is removed."""
        record = found.record
        if self.objects.needs_webhook(found.served, record):
            if record.is_deleting and not found.finalizers:
                self.objects.remove(found.served, record)
            else:
                self.objects.put_stored(found.served, record, found.obj)
            return
        live = self.objects.document(found.served, record)
        request = self._request(found.served, record.namespace, record.name, subresource)
        self._writer.write(propose(Decoded(request, _WRITE, found.obj), Existing(record, live)))

    def delete(self, found: Found, policy: str = "Background") -> None:
        """Delete an object."""
        request = self._request(found.served, found.record.namespace, found.record.name)
        deletion = AdmittedDeletion(request, found.record, DeleteOptions(policy=policy))
        if self.objects.needs_webhook(found.served, found.record):
            self._deleting.commit_stored(deletion)
        else:
            self._deleting.commit(deletion)

    def _request(self, served: ServedResource, namespace: str, name: str, subresource: str = "") -> ApiRequest:
        info = RequestInfo(served.group, served.version, served.plural, namespace, name, subresource)
        return ApiRequest(Request("PUT", "/", _HEADERS, b""), info, Query(), served, self._contexts.of(_CONTROLLER))
