"""`NamespaceDefaults`: creates the default ServiceAccount and the server's CA certificate in every namespace."""

from steersman.apiserver.background.internal_client import InternalClient, Place
from steersman.apiserver.background.tasks import BackgroundTasks
from steersman.apiserver.storage.history import Event
from steersman.json_types import JsonObject

_ACCOUNT = ("serviceaccounts", "default")
ROOT_CERTIFICATE = "kube-root-ca.crt"
_CERTIFICATE = ("configmaps", ROOT_CERTIFICATE)
_WATCHED = frozenset({_ACCOUNT, _CERTIFICATE})
_ABOUT = {
    "kubernetes.io/description": (
        "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
        "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of "
        "Kubernetes clusters."
    )
}


class NamespaceDefaults:
    """Creates the first objects of every namespace, and restores them."""

    def __init__(
        self, client: InternalClient, tasks: BackgroundTasks, *, root_certificate: bytes | None = None
    ) -> None:
        self._client = client
        self._tasks = tasks
        #: ``None`` for a server without a port, which has no authority.
        self._certificate = None if root_certificate is None else root_certificate.decode()

    def start(self) -> None:
        """Check every namespace."""
        for record in self._client.objects.records_of("namespaces"):
            self._look_at(record.name)

    def observe(self, event: Event) -> None:
        """Note a write."""
        if event.resource == "namespaces":
            if event.type == "ADDED":
                self._look_at(event.record.name)
        elif (event.resource, event.record.name) in _WATCHED:
            self._look_at(event.record.namespace)

    def _look_at(self, namespace: str) -> None:
        self._tasks.add(("furnish", namespace), lambda: self._furnish(namespace))

    def _furnish(self, namespace: str) -> None:
        record = self._client.objects.store.get("namespaces", "", namespace)
        if record is None or record.is_deleting:
            return
        if self._certificate is not None:
            self._publish(namespace, {"ca.crt": self._certificate})
        if self._client.find(Place(_ACCOUNT[0], namespace, _ACCOUNT[1])) is None:
            self._client.create(_ACCOUNT[0], {"metadata": {"name": _ACCOUNT[1], "namespace": namespace}})

    def _publish(self, namespace: str, data: JsonObject) -> None:
        found = self._client.find(Place(_CERTIFICATE[0], namespace, _CERTIFICATE[1]))
        if found is None:
            metadata = {"name": ROOT_CERTIFICATE, "namespace": namespace, "annotations": dict(_ABOUT)}
            self._client.create(_CERTIFICATE[0], {"metadata": metadata, "data": data})
            return
        annotations = found.metadata.get("annotations") or {}
        if found.obj.get("data") == data and annotations.items() >= _ABOUT.items():
            return
        found.obj["data"] = data
        found.metadata["annotations"] = {**annotations, **_ABOUT}
        self._client.update(found)
