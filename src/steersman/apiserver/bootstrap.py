"""The first objects of every cluster: its namespaces, its roles, and the Service of its own API."""

from steersman.apiserver.access.rbac.bootstrap import bootstrap_roles
from steersman.apiserver.resources.catalog import Catalog
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.clock import Clock
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json
from steersman.objects.times import format_time
from steersman.randomness import Randomness

NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
API_ADDRESS = "10.0.0.1"
_RANGE = "10.0.0.0/24"
#: The name of the Service of the API, of its endpoints, and of the range of service addresses.
_SERVICE = "kubernetes"


def bootstrap(
    objects: ObjectStore, catalog: Catalog, clock: Clock, randomness: Randomness, *, aggregates: bool
) -> None:
    """Create the first objects of an empty store; ``aggregates`` tells whether aggregated roles have rules."""
    time = format_time(clock.now())
    namespaces = catalog.find("", "v1", "namespaces")
    services = catalog.find("", "v1", "services")
    assert namespaces is not None and services is not None, "built in"  # noqa: S101, PT018 - the table has them
    for name in NAMESPACES:
        objects.put(namespaces, _namespace(name, randomness.uid(), time))
    bootstrap_roles(objects, catalog, randomness, time, aggregates=aggregates)
    objects.put(services, _api_service(randomness.uid(), time))
    ranges = catalog.find("networking.k8s.io", "v1", "servicecidrs")
    assert ranges is not None, "built in"  # noqa: S101 - the table has them
    objects.put(ranges, _service_range(randomness.uid(), time))


def publish_endpoint(
    objects: ObjectStore, catalog: Catalog, clock: Clock, randomness: Randomness, address: tuple[str, int]
) -> None:
    """Write where the server is reached into the endpoints of the Service of its own API."""
    host, port = address
    kind = "IPv6" if ":" in host else "IPv4"
    subset = {"addresses": [{"ip": host}], "ports": [{"name": "https", "port": port, "protocol": "TCP"}]}
    endpoint = {"addresses": [host], "conditions": {"ready": True}}
    ports = [{"name": "https", "protocol": "TCP", "port": port}]
    slices = {"addressType": kind, "endpoints": [endpoint], "ports": ports}
    for group, plural, labels, content in (
        ("", "endpoints", {"endpointslice.kubernetes.io/skip-mirror": "true"}, {"subsets": [subset]}),
        ("discovery.k8s.io", "endpointslices", {"kubernetes.io/service-name": _SERVICE}, slices),
    ):
        served = catalog.find(group, "v1", plural)
        assert served is not None, "built in"  # noqa: S101 - the table has them
        record = objects.get(served, "default", _SERVICE)
        metadata: JsonObject = {"name": _SERVICE, "namespace": "default", "uid": randomness.uid()}
        metadata |= {"resourceVersion": "", "creationTimestamp": format_time(clock.now()), "labels": labels}
        if plural == "endpointslices":
            metadata["generation"] = 1
        if record is not None:
            found = decode_json(record.raw)
            if all(found.get(key) == value for key, value in content.items()):
                continue
            metadata = found["metadata"]
        objects.put(served, {"kind": served.kind, "apiVersion": served.api_version, "metadata": metadata, **content})


def _namespace(name: str, uid: str, time: str) -> JsonObject:
    return {
        "kind": "Namespace",
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "uid": uid,
            "resourceVersion": "",
            "creationTimestamp": time,
            "labels": {"kubernetes.io/metadata.name": name},
            "managedFields": [
                {
                    "manager": "kube-apiserver",
                    "operation": "Update",
                    "apiVersion": "v1",
                    "time": time,
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:kubernetes.io/metadata.name": {}}}},
                }
            ],
        },
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }


def _api_service(uid: str, time: str) -> JsonObject:
    return {
        "kind": "Service",
        "apiVersion": "v1",
        "metadata": {
            "name": _SERVICE,
            "namespace": "default",
            "uid": uid,
            "resourceVersion": "",
            "creationTimestamp": time,
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": 6443}],
            "clusterIP": API_ADDRESS,
            "clusterIPs": [API_ADDRESS],
            "type": "ClusterIP",
            "sessionAffinity": "None",
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "internalTrafficPolicy": "Cluster",
        },
        "status": {"loadBalancer": {}},
    }


def _service_range(uid: str, time: str) -> JsonObject:
    ready = {
        "type": "Ready",
        "status": "True",
        "lastTransitionTime": time,
        "reason": "",
        "message": "Kubernetes default Service CIDR is ready",
    }
    return {
        "kind": "ServiceCIDR",
        "apiVersion": "networking.k8s.io/v1",
        "metadata": {"name": _SERVICE, "uid": uid, "resourceVersion": "", "creationTimestamp": time},
        "spec": {"cidrs": [_RANGE]},
        "status": {"conditions": [ready]},
    }
