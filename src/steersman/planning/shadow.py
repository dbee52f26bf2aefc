"""`Shadow`: the cluster as a plan sees it: an embedded API server that reads objects from the live one on first use.

An object is read from the live cluster once: by name, or with the list that first contains it. From then on the shadow
has it, with a resource version of the shadow; `live_version` returns that of the live object. What was not read yet is
not in the shadow, so the garbage collector of a cluster must not run in it: it would miss owners that do exist.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final
from urllib.parse import quote

from steersman.apiserver.messages.info import Query, RequestInfo
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.apiserver.server import ApiServer
from steersman.apiserver.storage.history import Event
from steersman.apiserver.storage.record import Record
from steersman.clock import Clock
from steersman.errors import ApiError, NotFound
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json
from steersman.planning.changes import ChangeLog, Place
from steersman.protocol.http import Request, Response
from steersman.protocol.responses import body_of
from steersman.randomness import Randomness
from steersman.transport.base import Transport
from steersman.transport.in_memory import InMemoryTransport

_PAGE: Final = 500
#: The stored name of definitions.
DEFINITION_RESOURCE: Final = "customresourcedefinitions.apiextensions.k8s.io"
_JSON: Final = {"accept": "application/json"}
_NOT_FOUND: Final = 404


class Shadow:
    """A copy of the live cluster that grows with what a plan reads, and holds what the plan writes."""

    def __init__(self, live: Transport, *, clock: Clock, definitions: Iterable[JsonObject] = ()) -> None:
        self._live = live
        self.server = ApiServer(clock=clock, randomness=Randomness())
        self.transport: Transport = InMemoryTransport(self.server, clock=clock)
        self.log = ChangeLog()
        #: Definitions of the operator, for kinds whose definition cannot be read from the cluster.
        self._definitions: dict[str, JsonObject] = {one["metadata"]["name"]: one for one in definitions}
        #: Scopes that were loaded: the stored name of a resource, a namespace or ``""``, and a selection.
        self._loaded: set[tuple[str, str, str]] = set()
        #: Resource versions of the live objects.
        self._versions: dict[Place, str] = {}
        self._is_loading = False
        #: Called with every state of an object that the plan sees: its place and its bytes.
        self.on_object: Callable[[Place, bytes], None] = lambda *_: None
        self.server.objects.observers.append(self._observe)

    def _observe(self, event: Event) -> None:
        record = event.record
        self.on_object(Place(event.resource, record.namespace, record.name), record.raw)
        if not self._is_loading:
            self.log.observe(event)

    # Reading from the live cluster.

    async def served(self, info: RequestInfo) -> ServedResource | None:
        """Return a resource as the shadow serves it, after loading its definition; ``None`` if it has none."""
        found = self.server.catalog.find(info.group, info.version, info.resource)
        if found is None and "." in info.group:
            await self._load_definition(info)
            found = self.server.catalog.find(info.group, info.version, info.resource)
        return found

    async def _load_definition(self, info: RequestInfo) -> None:
        """Serve a custom kind as its definition says; objects are stored in the version that the operator reads."""
        definitions = self.resource(DEFINITION_RESOURCE)
        assert definitions is not None  # noqa: S101 - built in
        place = Place(DEFINITION_RESOURCE, "", f"{info.resource}.{info.group}")
        await self._load_object(definitions, place)
        record = self.record(place)
        definition = self._definitions.get(place.name) if record is None else record.decode()
        if definition is None:
            definition = await self._discovered_definition(info)
        if definition is not None:
            spec = {key: value for key, value in definition["spec"].items() if key != "conversion"}
            spec["versions"] = [{**one, "storage": one["name"] == info.version} for one in spec["versions"]]
            if any(one["storage"] for one in spec["versions"]):
                self.server.serve_definition({**definition, "spec": spec})

    async def _discovered_definition(self, info: RequestInfo) -> JsonObject | None:
        """Return a definition without rules for a kind that is served, but whose definition cannot be read."""
        path = f"/apis/{info.group}/{info.version}"
        response = await self._live.request(Request("GET", path, _JSON))
        try:
            resources = decode_json(body_of(response)).get("resources") or []
        except ApiError:
            return None
        found = {one["name"]: one for one in resources}
        return None if info.resource not in found else _permissive_definition(info, found)

    async def load(self, info: RequestInfo, served: ServedResource, query: Query) -> Response | None:
        """Read what a request is about from the live cluster; return the live server's answer if it refuses."""
        namespace = info.namespace if served.namespaced else ""
        if info.name:
            return await self._load_object(served, Place(served.stored_as, namespace, info.name))
        return await self._load_list(served, namespace, _selection(query))

    async def load_namespace(self, namespace: str) -> None:
        """Read a namespace, so that objects can be created in it; one that cannot be read is taken to exist."""
        served = self.server.catalog.find("", "v1", "namespaces")
        assert served is not None  # noqa: S101 - built in
        place = Place("namespaces", "", namespace)
        refusal = await self._load_object(served, place)
        if refusal is not None and self.record(place) is None:
            self._load_documents(served, [{"metadata": {"name": namespace}, "status": {"phase": "Active"}}])

    async def _load_object(self, served: ServedResource, place: Place) -> Response | None:
        resource, namespace, name = place
        scopes = {(resource, "", ""), (resource, namespace, ""), (resource, namespace, f"/{name}")}
        if not scopes.isdisjoint(self._loaded) or self.log.is_changed(place) or place in self._versions:
            return None
        response = await self._live.request(Request("GET", self.path(served, place), _JSON))
        if response.status == _NOT_FOUND:
            self._unload(served, place)
        else:
            try:
                document = decode_json(body_of(response))
            except ApiError:
                return response
            self._load_documents(served, [document])
        self._loaded.add((resource, namespace, f"/{name}"))
        return None

    async def reload(self, served: ServedResource, place: Place) -> None:
        """Read an object again, because the live one has changed since."""
        response = await self._live.request(Request("GET", self.path(served, place), _JSON))
        try:
            document = decode_json(body_of(response))
        except NotFound:
            self._unload(served, place)
        else:
            self._versions.pop(place, None)
            self._load_documents(served, [document])

    async def _load_list(self, served: ServedResource, namespace: str, selection: str) -> Response | None:
        resource = served.stored_as
        scopes = {(resource, "", ""), (resource, namespace, ""), (resource, namespace, selection)}
        if not scopes.isdisjoint(self._loaded):
            return None
        found: set[Place] = set()
        token = ""
        while True:
            page = f"limit={_PAGE}{selection}{f'&continue={quote(token)}' if token else ''}"
            path = self.path(served, Place(resource, namespace, ""))
            response = await self._live.request(Request("GET", f"{path}?{page}", _JSON))
            if response.status == _NOT_FOUND and self._is_planned(served):
                break
            try:
                answer = decode_json(body_of(response))
            except ApiError:
                return response
            found |= self._load_documents(served, answer.get("items") or [])
            token = (answer.get("metadata") or {}).get("continue") or ""
            if not token:
                break
        if not selection:
            self._unload_others(served, namespace, found)
        self._loaded.add((resource, namespace, selection))
        return None

    def _is_planned(self, served: ServedResource) -> bool:
        """Return whether a kind is served only in the plan, because its definition exists only there."""
        return self.log.is_new(Place(DEFINITION_RESOURCE, "", f"{served.plural}.{served.group}"))

    def _load_documents(self, served: ServedResource, documents: list[JsonObject]) -> set[Place]:
        """Store live objects, except those that are there already; return the places of all."""
        places: set[Place] = set()
        self._is_loading = True
        try:
            for document in documents:
                metadata = document["metadata"]
                place = Place(served.stored_as, metadata.get("namespace") or "", metadata["name"])
                places.add(place)
                if place not in self._versions and not self.log.is_changed(place):
                    self._versions[place] = metadata.get("resourceVersion") or ""
                    self._put(served, {**document, "apiVersion": served.api_version, "kind": served.kind})
        finally:
            self._is_loading = False
        return places

    def _unload_others(self, served: ServedResource, namespace: str, found: set[Place]) -> None:
        """Remove the default objects of an embedded server that do not exist in the live cluster."""
        for record in self.server.objects.records(served, namespace or None):
            place = Place(served.stored_as, record.namespace, record.name)
            if place not in found:
                self._unload(served, place)

    def _unload(self, served: ServedResource, place: Place) -> None:
        record = self.record(place)
        if record is None or self.log.is_changed(place):
            return
        self._is_loading = True
        try:
            self.server.objects.remove(served, record)
        finally:
            self._is_loading = False
        self._versions.pop(place, None)

    # The state of the plan.

    def record(self, place: Place) -> Record | None:
        """Return an object as it is in the plan."""
        return self.server.objects.store.get(*place)

    def live_version(self, place: Place) -> str:
        """Return the resource version of the live object; empty if there is none."""
        return self._versions.get(place, "")

    def lay(self, served: ServedResource, document: JsonObject) -> bytes:
        """Store the live server's answer to a dry run, and return it with its version in the plan."""
        return self._put(served, document)

    def _put(self, served: ServedResource, document: JsonObject) -> bytes:
        return self.server.objects.put(served, document)

    def resource(self, stored_as: str) -> ServedResource | None:
        """Return a served version of a resource by its stored name, the one that is stored if there are several."""
        found = [served for served in self.server.catalog if served.stored_as == stored_as]
        return next((served for served in found if served.is_stored_form), found[0] if found else None)

    @staticmethod
    def path(served: ServedResource, place: Place) -> str:
        """Return the path of an object, or of a list if the place has no name."""
        root = f"/apis/{served.group}/{served.version}" if served.group else f"/api/{served.version}"
        if place.namespace:
            root = f"{root}/namespaces/{quote(place.namespace)}"
        return f"{root}/{served.plural}{f'/{quote(place.name)}' if place.name else ''}"


def _permissive_definition(info: RequestInfo, resources: Mapping[str, JsonObject]) -> JsonObject:
    """Return a definition that accepts any object of a discovered resource."""
    resource = resources[info.resource]
    version = {
        "name": info.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        "subresources": {"status": {}} if f"{info.resource}/status" in resources else {},
    }
    names = {"plural": info.resource, "kind": resource["kind"], "singular": resource.get("singularName") or ""}
    scope = "Namespaced" if resource.get("namespaced") else "Cluster"
    spec = {"group": info.group, "names": names, "scope": scope, "versions": [version]}
    return {"metadata": {"name": f"{info.resource}.{info.group}"}, "spec": spec}


def _selection(query: Query) -> str:
    """Return the selectors of a list as the end of a query."""
    return "".join(
        f"&{name}={quote(query.text(name))}" for name in ("labelSelector", "fieldSelector") if query.text(name)
    )


def metadata_of(document: Mapping[str, Any]) -> JsonObject:
    """Return the metadata of a document; empty if it has none."""
    metadata = document.get("metadata")
    return metadata if isinstance(metadata, dict) else {}
