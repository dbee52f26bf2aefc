"""What a component may do with objects: read them, write them. A signature that asks for one of these says how much.

``Client`` is both. A cache can be a ``Reader``; whatever records or refuses writes can be a ``Writer``.
"""

from collections.abc import AsyncIterator
from typing import Any, Final, Generic, Protocol, TypeVar, overload

from msgspec import Struct

from steersman.objects.identity import GroupVersionKind, ObjectKey
from steersman.objects.resource import KubeObject, Unstructured
from steersman.protocol.options import DeleteOptions, WriteOptions
from steersman.protocol.requests import PatchType

K = TypeVar("K", bound=KubeObject)
#: Any object, with a class or without.
O = TypeVar("O", bound=KubeObject | Unstructured)  # noqa: E741 - O for object, as K for kind

#: The namespace that means every namespace, where objects are listed or watched.
ALL_NAMESPACES: Final = ""


class Ref(Struct, Generic[O], frozen=True):
    """Names an object that is not at hand: ``Ref(Pod, "a")``, or ``Ref(gvk, "a")`` for a kind without a class.

    Without a namespace it is in the client's own; cluster-scoped kinds have none.
    """

    kind: type[O] | GroupVersionKind
    name: str
    namespace: str | None = None

    def __str__(self) -> str:
        kind = self.kind if isinstance(self.kind, GroupVersionKind) else self.kind.__name__
        return f"{kind} {ObjectKey(self.namespace or '', self.name)}"


class Reader(Protocol):
    """Reads objects. Without a namespace, the reader's own is meant; ``ALL_NAMESPACES`` lists them all."""

    @overload
    async def get(self, kind: type[K], name: str, namespace: str | None = None) -> K: ...
    @overload
    async def get(self, kind: GroupVersionKind, name: str, namespace: str | None = None) -> Unstructured: ...
    async def get(self, kind: Any, name: str, namespace: str | None = None) -> Any:
        """Give an object, or raise ``NotFound``."""

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
        """Give objects one after another, fetched in pages."""


class Writer(Protocol):
    """Writes objects. Every verb gives the object as the server has it afterwards."""

    async def create(self, obj: O, *, options: WriteOptions | None = None) -> O:
        """Create an object; ``AlreadyExists`` if there is one of its name."""

    async def update(self, obj: O, *, options: WriteOptions | None = None) -> O:
        """Send what changed since the object was read; ``Conflict`` if somebody else changed it meanwhile."""

    async def patch(
        self,
        target: O | Ref[O],
        body: dict[str, Any] | list[Any],
        *,
        patch_type: PatchType = PatchType.MERGE,
        options: WriteOptions | None = None,
    ) -> O:
        """Change parts of an object, whatever its other parts are."""

    async def apply(self, obj: O, *, force: bool = False) -> O:
        """Make the fields that are set here so; ``Conflict`` if another manager owns one of them, unless forced."""

    async def delete(self, target: O | Ref[O], *, options: DeleteOptions | None = None) -> None:
        """Delete an object; one that is handed over is deleted only if it is still the same one, by its uid."""
