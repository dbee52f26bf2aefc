"""Recognises leader election: it never ends, so it counts neither as traffic nor as a step, and is not compared.

Today programs elect their leader with a Lease. Older ones keep the record in an annotation of a ConfigMap or of
Endpoints.
"""

from collections.abc import Callable

from steersman.apiserver.server import ApiServer
from steersman.apiserver.storage.history import Event
from steersman.apiserver.storage.record import Record
from steersman.json_types import JsonObject
from steersman.protocol.http import Request
from steersman.simulation.network.exchanges import Collected, Frame

_ANNOTATION = "control-plane.alpha.kubernetes.io/leader"
_RECORDS = frozenset({"configmaps", "endpoints"})
_LEASES = "leases.coordination.k8s.io"
#: Leases of nodes do not belong to an election.
_NODES = "kube-node-lease"


def is_election_request(server: ApiServer, request: Request) -> bool:
    """Return whether a request reads or writes the record of a leader in a ConfigMap or Endpoints."""
    parts = request.target.partition("?")[0].split("/")
    if _RECORDS.isdisjoint(parts[-2:]):
        return False
    if parts[-1] in _RECORDS:
        return request.method == "POST" and _ANNOTATION.encode() in request.body
    record = server.objects.store.get(parts[-2], parts[-3], parts[-1])
    return record is not None and is_election_record(parts[-2], record)


def is_election_record(resource: str, record: Record) -> bool:
    """Return whether an object is the record of a leader."""
    if resource == _LEASES:
        return True
    return resource in _RECORDS and _ANNOTATION.encode() in record.raw


def is_election_frame(collection: str, frame: Frame) -> bool:
    """Return whether an event of a watch is about the record of a leader."""
    plural = collection.rpartition("/")[2]
    return plural == "leases" or (plural in _RECORDS and _ANNOTATION.encode() in frame.raw)


def is_election_object(document: JsonObject) -> bool:
    """Return whether an object is the record of a leader in a ConfigMap or Endpoints."""
    return _ANNOTATION in (document["metadata"].get("annotations") or {})


def without_elections(observer: Callable[[Event], None]) -> Callable[[Event], None]:
    """Return an observer of writes that is not notified of the records of leaders."""

    def observe(event: Event) -> None:
        if not is_election_record(event.resource, event.record):
            observer(event)

    return observe


def end_terms(server: ApiServer) -> None:
    """Delete the records of all leaders, as if their terms had run out.

    Only for a program that is known to be dead, because its process was waited for: the next one need not wait until
    the lease expires.
    """
    for resource in sorted({_LEASES, *_RECORDS}):
        for record in list(server.objects.store.list(resource).records):
            if is_election_record(resource, record) and record.namespace != _NODES:
                group = "/apis/coordination.k8s.io/v1" if resource == _LEASES else "/api/v1"
                plural = resource.partition(".")[0]
                path = f"{group}/namespaces/{record.namespace}/{plural}/{record.name}"
                server.handle(Request("DELETE", path), Collected())
