"""The parts of a client that a function can ask for: reading, writing, or writing the status only.

``Client`` implements all of them. A signature that asks for a `Reader` cannot write; a cache can be a `Reader`, and
tests can record or reject writes with a `Writer` of their own.
"""

from collections.abc import AsyncIterator
from typing import Any, Final, Generic, Protocol, TypeVar, overload

from msgspec import Struct

from steersman.json_types import JsonObject
from steersman.objects.identity import GroupVersionKind, ObjectKey
from steersman.objects.resource import KubeObject, PartialObjectMetadata, Unstructured
from steersman.protocol.options import DeleteOptions, Preconditions, WriteOptions
from steersman.protocol.requests import PatchType

K = TypeVar("K", bound=KubeObject)
#: Any object, with a class or without.
O = TypeVar("O", bound=KubeObject | Unstructured)  # noqa: E741 - O for object, as K for kind

#: The namespace that means every namespace when listing or watching.
ALL_NAMESPACES: Final = ""
#: Write whatever the object is.
NO_PRECONDITIONS: Final = Preconditions()


class Ref(Struct, Generic[O], frozen=True):
    """Reference to an object that was not read: ``Ref(Pod, "a")``, or ``Ref(gvk, "a")`` for a kind without a class.

    Without a namespace it is in the client's own namespace; cluster-scoped kinds have none.
    """

    kind: type[O] | GroupVersionKind
    name: str
    namespace: str | None = None

    def __str__(self) -> str:
        kind = self.kind if isinstance(self.kind, GroupVersionKind) else self.kind.__name__
        return f"{kind} {ObjectKey(self.namespace or '', self.name)}"


class Written(Struct, frozen=True, rename="camel"):
    """The metadata of an object after a write: enough to recognise that write in a cache."""

    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] | None = None


class Reader(Protocol):
    """Read objects. Without a namespace the reader's own is used; ``ALL_NAMESPACES`` lists every namespace."""

    @overload
    async def get(self, kind: type[K], name: str, namespace: str | None = None) -> K: ...
    @overload
    async def get(self, kind: GroupVersionKind, name: str, namespace: str | None = None) -> Unstructured: ...
    async def get(self, kind: Any, name: str, namespace: str | None = None) -> Any:
        """Return an object, or raise ``NotFound``."""

    @overload
    async def try_get(self, kind: type[K], name: str, namespace: str | None = None) -> K | None: ...
    @overload
    async def try_get(self, kind: GroupVersionKind, name: str, namespace: str | None = None) -> Unstructured | None: ...
    async def try_get(self, kind: Any, name: str, namespace: str | None = None) -> Any:
        """Return an object, or ``None`` if it does not exist."""

    async def try_get_metadata(
        self, kind: type[KubeObject] | GroupVersionKind, name: str, namespace: str | None = None
    ) -> PartialObjectMetadata | None:
        """Return the metadata of an object, or ``None`` if it does not exist."""

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
        """Yield objects; they are fetched in pages."""


class PatchWriter(Protocol):
    """Patch objects, or one subresource of them."""

    async def patch(
        self,
        target: O | Ref[O],
        body: JsonObject | list[Any],
        *,
        patch_type: PatchType = PatchType.MERGE,
        options: WriteOptions | None = None,
    ) -> O:
        """Patch an object whatever its resource version, and return it as the server has it afterwards."""

    async def patch_for_version(self, target: KubeObject, body: JsonObject) -> Written:
        """Apply a merge patch and return only the metadata of the result."""


class Writer(PatchWriter, Protocol):
    """Write objects under one field manager. Every verb returns the object as the server has it afterwards."""

    @property
    def field_manager(self) -> str:
        """Field manager that owns the fields written here."""

    @property
    def status(self) -> PatchWriter:
        """Writer of the status subresource."""

    async def create(self, obj: O, *, options: WriteOptions | None = None) -> O:
        """Create an object; raise ``AlreadyExists`` if its name is taken."""

    async def update(self, obj: O, *, options: WriteOptions | None = None) -> O:
        """Send what changed since the object was read; raise ``Conflict`` if another writer changed it meanwhile."""

    async def apply(self, obj: O, *, force: bool = False, preconditions: Preconditions = NO_PRECONDITIONS) -> O:
        """Apply the fields that are set; raise ``Conflict`` if another manager owns one of them, unless forced."""

    async def delete(
        self, target: O | Ref[O], *, options: DeleteOptions | None = None, missing_ok: bool = False
    ) -> None:
        """Delete an object; an object (not a `Ref`) is deleted only while its uid is the same."""


class ReaderWriter(Reader, Writer, Protocol):
    """Read and write objects."""
