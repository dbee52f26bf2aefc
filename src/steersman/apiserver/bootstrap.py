"""The first objects of every cluster: its namespaces, its roles, and the Service of its own API."""

from steersman.apiserver.access.rbac.bootstrap import bootstrap_roles
from steersman.apiserver.resources.catalog import Catalog
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.clock import Clock
from steersman.json_types import JsonObject
from steersman.objects.times import format_time
from steersman.randomness import Randomness

NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
API_ADDRESS = "10.0.0.1"


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
            "name": "kubernetes",
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
