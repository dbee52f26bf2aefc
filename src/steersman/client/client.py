"""`Client`: the typed verbs of the Kubernetes API. Async only; any number of tasks of one event loop may share it."""

import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from copy import copy
from typing import TYPE_CHECKING, Any, Self, overload

from msgspec.structs import replace

from steersman.client.discovery import Discovery
from steersman.client.interfaces import K, O, Ref
from steersman.client.listing import read_all, read_page
from steersman.client.logs import log_lines
from steersman.client.session import Session, Target, read_as
from steersman.client.wait import wait_deleted, wait_established, wait_for
from steersman.client.watching import Watcher
from steersman.client.writing import WriteVerbs
from steersman.clock import Clock, RealClock
from steersman.errors import NotFound
from steersman.json_types import JsonObject
from steersman.kinds.autoscaling_v1 import Scale
from steersman.objects.codec import ObjectList, decode, decode_json, encode, encode_json
from steersman.objects.identity import GroupVersionKind, ObjectKey
from steersman.objects.resource import KubeObject, PartialObjectMetadata, Unstructured
from steersman.protocol.list_watch import ListWatchSettings
from steersman.protocol.options import DeleteOptions, GetOptions, ListOptions, LogOptions, WriteOptions
from steersman.protocol.requests import PatchType, Requests
from steersman.randomness import Randomness
from steersman.transport.base import Transport
from steersman.transport.config import ClusterConfig
from steersman.transport.http.transport import HttpTransport

if TYPE_CHECKING:
    from steersman.client.exec import ExecResult
    from steersman.client.port_forward import PortConnection
    from steersman.informer.informer import Informer

#: The default field manager.
FIELD_MANAGER = "steersman"
#: Called before a client opens a connection; a plan raises here, because the writes of such a client would be real.
before_connecting: list[Callable[[], None]] = []
#: Shared, because nearly every read uses these options.
_NEWEST = GetOptions()


class Client(WriteVerbs):
    """Read and write the objects of one cluster, by class or by ``GroupVersionKind``.

    ``namespace`` is the default of all verbs; ``ALL_NAMESPACES`` means every namespace.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        namespace: str = "default",
        field_manager: str = FIELD_MANAGER,
        clock: Clock | None = None,
        randomness: Randomness | None = None,
    ) -> None:
        session = Session(
            transport,
            namespace=namespace,
            clock=clock or RealClock(),
            randomness=randomness or Randomness(),
        )
        super().__init__(session, WriteOptions(field_manager=field_manager))

    @classmethod
    @asynccontextmanager
    async def connect(
        cls,
        *,
        kubeconfig: str | os.PathLike[str] | None = None,
        context: str | None = None,
        field_manager: str = FIELD_MANAGER,
    ) -> AsyncIterator[Self]:
        """Connect as operators do: by the given or default kubeconfig, or inside a pod to its own cluster."""
        config = ClusterConfig.load(kubeconfig, context=context)
        async with cls.connect_to(config, field_manager=field_manager) as client:
            yield client

    @classmethod
    @asynccontextmanager
    async def in_cluster(cls, *, field_manager: str = FIELD_MANAGER) -> AsyncIterator[Self]:
        """Connect with the service account of the pod that this process runs in."""
        async with cls.connect_to(ClusterConfig.in_cluster(), field_manager=field_manager) as client:
            yield client

    @classmethod
    @asynccontextmanager
    async def connect_to(cls, config: ClusterConfig, *, field_manager: str = FIELD_MANAGER) -> AsyncIterator[Self]:
        """Connect to the cluster of a configuration."""
        for check in before_connecting:
            check()
        clock = RealClock()
        transport = HttpTransport(config, clock=clock)
        try:
            yield cls(transport, namespace=config.namespace, field_manager=field_manager, clock=clock)
        finally:
            await transport.close()

    def __repr__(self) -> str:
        dry = " dry-run" if self._options.dry_run else ""
        return f"<Client {self._session.transport!r} namespace={self.namespace}{dry}>"

    # Views.

    @property
    def namespace(self) -> str:
        """Default namespace."""
        return self._session.namespace

    @property
    def field_manager(self) -> str:
        """Field manager that owns the fields that this client writes."""
        return self._options.field_manager

    @property
    def discovery(self) -> Discovery:
        """Discovery of the kinds that the server serves."""
        return self._session.discovery

    @property
    def transport(self) -> Transport:
        """Transport of this client's requests."""
        return self._session.transport

    @property
    def status(self) -> WriteVerbs:
        """The same verbs for the status of objects: ``client.status.update(obj)``."""
        return WriteVerbs(self._session, self._options, subresource="status")

    def dry_run(self) -> Self:
        """Return a view of this client whose writes are validated and answered by the server, but never stored."""
        return self._with(replace(self._options, dry_run=True))

    def strict(self) -> Self:
        """Return a view of this client whose writes are rejected if they contain unknown or duplicate fields."""
        return self._with(replace(self._options, field_validation="Strict"))

    def as_manager(self, field_manager: str) -> Self:
        """Return a view of this client that writes under another field manager."""
        return self._with(replace(self._options, field_manager=field_manager))

    def _with(self, options: WriteOptions) -> Self:
        view = copy(self)
        view._options = options  # noqa: SLF001 - a view is this client with other options
        return view

    # Reading.

    @overload
    async def get(self, kind: type[K], name: str, namespace: str | None = None, *, resource_version: str = "") -> K: ...
    @overload
    async def get(
        self, kind: GroupVersionKind, name: str, namespace: str | None = None, *, resource_version: str = ""
    ) -> Unstructured: ...
    async def get(self, kind: Any, name: str, namespace: str | None = None, *, resource_version: str = "") -> Any:
        """Return an object, or raise ``NotFound``. Version ``"0"`` accepts any version from the server's cache."""
        requests = await self._session.requests(kind)
        key = ObjectKey(self._session.scope(requests, namespace), name)
        options = GetOptions(resource_version=resource_version) if resource_version else _NEWEST
        return read_as(kind, await self._session.send(requests.get(key, options)))

    @overload
    async def try_get(self, kind: type[K], name: str, namespace: str | None = None) -> K | None: ...
    @overload
    async def try_get(self, kind: GroupVersionKind, name: str, namespace: str | None = None) -> Unstructured | None: ...
    async def try_get(self, kind: Any, name: str, namespace: str | None = None) -> Any:
        """Return an object, or ``None`` if the API server answers that it does not exist.

        Raises ``KindNotServed`` if its kind is not served: then nothing is known about the object.
        """
        try:
            return await self.get(kind, name, namespace)
        except NotFound as error:
            if error.is_object:
                return None
            raise

    async def try_get_metadata(
        self, kind: type[KubeObject] | GroupVersionKind, name: str, namespace: str | None = None
    ) -> PartialObjectMetadata | None:
        """Return the metadata of an object without its content, or ``None`` if there is no such object."""
        requests = await self._session.requests(kind)
        key = ObjectKey(self._session.scope(requests, namespace), name)
        request = Requests(requests.resource, metadata_only=True).get(key, _NEWEST)
        try:
            return decode(PartialObjectMetadata, await self._session.send(request))
        except NotFound:
            return None

    @overload
    def list(
        self, kind: type[K], *, namespace: str | None = None, label_selector: str = "", field_selector: str = ""
    ) -> AsyncIterator[K]: ...
    @overload
    def list(
        self,
        kind: GroupVersionKind,
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
    ) -> AsyncIterator[Unstructured]: ...
    def list(
        self, kind: Any, *, namespace: str | None = None, label_selector: str = "", field_selector: str = ""
    ) -> AsyncIterator[Any]:
        """Yield objects: ``[pod async for pod in client.list(Pod)]``. Pages are fetched as needed."""
        options = ListOptions(label_selector=label_selector, field_selector=field_selector)
        return read_all(self._session, kind, namespace, options)

    def list_metadata(
        self,
        kind: type[KubeObject] | GroupVersionKind,
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
    ) -> AsyncIterator[PartialObjectMetadata]:
        """Yield the metadata of objects without their content; pages are fetched as needed."""
        options = ListOptions(label_selector=label_selector, field_selector=field_selector)
        return read_all(self._session, kind, namespace, options, metadata_only=True)

    @overload
    async def list_page(
        self, kind: type[K], options: ListOptions, *, namespace: str | None = None
    ) -> ObjectList[K]: ...
    @overload
    async def list_page(
        self, kind: GroupVersionKind, options: ListOptions, *, namespace: str | None = None
    ) -> ObjectList[Unstructured]: ...
    async def list_page(self, kind: Any, options: ListOptions, *, namespace: str | None = None) -> ObjectList[Any]:
        """Return one page with its version and the token of the next; every option of a list can be set."""
        return await read_page(self._session, kind, namespace, options)

    @overload
    def watch(
        self,
        kind: type[K],
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        since: str = "",
    ) -> Watcher[K]: ...
    @overload
    def watch(
        self,
        kind: GroupVersionKind,
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        since: str = "",
    ) -> Watcher[Unstructured]: ...
    def watch(
        self,
        kind: Any,
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        since: str = "",
    ) -> Watcher[Any]:
        """Watch objects: all existing ones, then every change; resumes by itself. See ``Watcher``."""
        settings = ListWatchSettings(label_selector=label_selector, field_selector=field_selector)
        return Watcher(self._session, kind, namespace, settings, since)

    def informer(
        self,
        kind: type[K],
        *,
        namespaces: Sequence[str] = (),
        label_selector: str = "",
        field_selector: str = "",
        metadata_only: bool = False,
    ) -> "Informer[K]":
        """Return a cache of a kind, in all namespaces or the given ones; it is synced when its block begins.

        Write ``async with client.informer(Pod) as pods: pods.get("default/a")``. With ``metadata_only`` it has no
        content: use ``get_metadata`` and ``list_metadata``.
        """
        from steersman.informer.informer import Informer, Selection  # noqa: PLC0415 - most clients need no cache
        from steersman.informer.list_watch_driver import ApiConnection  # noqa: PLC0415 - same

        selection = Selection(
            namespaces=tuple(namespaces),
            label_selector=label_selector,
            field_selector=field_selector,
            metadata_only=metadata_only,
        )
        return Informer(kind, ApiConnection(self.transport, self._session.clock, self._session.randomness), selection)

    def logs(self, target: Target, options: LogOptions | None = None) -> AsyncIterator[str]:
        """Yield the lines of a container's log; with ``follow`` as long as the container runs."""
        return log_lines(self._session, target, options or LogOptions())

    async def exec(
        self, target: Target, command: Sequence[str], *, container: str = "", stdin: bytes | None = None
    ) -> "ExecResult":
        """Run a command inside a pod's container and wait for its end: ``(await client.exec(pod, ["date"])).stdout``.

        The exit code is part of the result, whatever it is; ``InternalError`` is raised if the command cannot be run.
        """
        from steersman.client.exec import execute  # noqa: PLC0415 - most clients run no commands

        return await execute(self._session, target, command, container=container, stdin=stdin)

    @asynccontextmanager
    async def open_port(self, target: Target, port: int) -> AsyncIterator["PortConnection"]:
        """Connect to a port of a pod through the API server inside the block, as `kubectl port-forward` does.

        It is reached from inside the pod, so a port that listens on loopback only is reached, too.
        """
        from steersman.client.port_forward import open_port  # noqa: PLC0415 - most clients only ask

        async with open_port(self._session, target, port) as connection:
            yield connection

    # Writing; update, replace, patch and apply are those of ``WriteVerbs``.

    async def create(self, obj: O, *, options: WriteOptions | None = None) -> O:
        """Create an object; raise ``AlreadyExists`` if its name is taken."""
        requests, key = await self._session.locate(obj)
        request = requests.create(key.namespace, encode(obj), self._write_options(options))
        return self._read(obj, await self._session.send(request))

    async def delete(
        self, target: O | Ref[O], *, options: DeleteOptions | None = None, missing_ok: bool = False
    ) -> None:
        """Delete an object; an object (not a `Ref`) is deleted only while its uid is the same.

        Objects with finalizers or a grace period still exist afterwards: see ``wait_deleted``.
        """
        requests, key = await self._session.locate(target)
        request = requests.delete(key, self._delete_options(target, options))
        try:
            await self._session.send(request)
        except NotFound as error:
            if not (missing_ok and error.is_object):
                raise

    def _delete_options(self, target: Target, options: DeleteOptions | None) -> DeleteOptions:
        options = options or DeleteOptions()
        if not isinstance(target, Ref) and not options.preconditions.uid:
            options = replace(options, preconditions=replace(options.preconditions, uid=target.uid))
        return replace(options, dry_run=True) if self._options.dry_run else options

    async def delete_all(
        self,
        kind: type[KubeObject] | GroupVersionKind,
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        options: DeleteOptions | None = None,
    ) -> None:
        """Delete the selected objects of one namespace, or of a cluster-scoped kind."""
        requests = await self._session.requests(kind)
        selection = ListOptions(label_selector=label_selector, field_selector=field_selector)
        options = options or DeleteOptions()
        if self._options.dry_run:
            options = replace(options, dry_run=True)
        await self._session.send(
            requests.delete_collection(self._session.scope(requests, namespace), selection, options)
        )

    # Subresources; the status has a view of its own.

    async def get_scale(self, target: Target) -> Scale:
        """Return the current and the desired number of replicas."""
        requests, key = await self._session.locate(target)
        return decode(Scale, await self._session.send(requests.get(key, subresource="scale")))

    async def scale(self, target: Target, replicas: int) -> Scale:
        """Set the desired number of replicas."""
        requests, key = await self._session.locate(target)
        body = encode_json({"spec": {"replicas": replicas}})
        request = requests.patch(key, PatchType.MERGE, body, self._options, subresource="scale")
        return decode(Scale, await self._session.send(request))

    async def create_subresource(self, target: Target, subresource: str, body: JsonObject) -> JsonObject:
        """Create a subresource of an object, such as a ``token`` of a service account, and return the response."""
        requests, key = await self._session.locate(target)
        request = requests.create_subresource(key, subresource, encode_json(body), self._options)
        answer: JsonObject = decode_json(await self._session.send(request))
        return answer

    async def evict(self, target: Target, *, options: DeleteOptions | None = None) -> None:
        """Evict a pod from its node; raise ``TooManyRequests`` while a disruption budget does not allow it."""
        _, key = await self._session.locate(target)
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": key.name, "namespace": key.namespace},
        }
        sent = self._delete_options(target, options).body
        await self.create_subresource(
            target, "eviction", {**body, **({"deleteOptions": decode_json(sent)} if sent else {})}
        )

    # Waiting.

    async def wait_for(
        self,
        target: O | Ref[O],
        condition: Callable[[O], bool],
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - it is measured by the injected clock
    ) -> O:
        """Wait until an object exists and meets a condition, and return it; ``WaitTimeout`` has the last state."""
        return await wait_for(self._session, target, condition, timeout)

    async def wait_deleted(
        self,
        target: Target,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - it is measured by the injected clock
    ) -> None:
        """Wait until an object does not exist any more, or another one has its name."""
        await wait_deleted(self._session, target, timeout)

    async def wait_established(
        self,
        crd: str | KubeObject | Unstructured,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - it is measured by the injected clock
    ) -> None:
        """Wait until a custom resource definition is established and its objects can be listed.

        Raises ``DeclarationError`` at once if the server does not accept its names.
        """
        await wait_established(self._session, crd if isinstance(crd, str) else crd.name, timeout)
