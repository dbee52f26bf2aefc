"""`BuiltinKind`: everything that is registered about one built-in kind.

Each family of kinds lists its kinds once, in ``<family>/family.py``. Defaults and strategies are given as objects,
because a server needs them all when it starts. Validation, warnings and columns are given as references of the form
``"<module>:<name>"``, relative to this package: their modules are imported when the first object of the kind is
written or printed, which keeps them out of the time that a server takes to start.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from msgspec import Struct

from steersman.apiserver.resources.columns import CREATED_AT, NAME, Column
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.resources.strategy import Strategy
from steersman.json_types import JsonObject
from steersman.objects.identity import GroupVersionKind
from steersman.validation.field_errors import FieldError

#: Fills in the fields that an author left out, in place.
Defaults = Callable[[JsonObject], None]
#: Returns what is wrong with an object: ``(obj, old, subresource)``; ``old`` is ``None`` for a new object.
Validation = Callable[[JsonObject, JsonObject | None, str], list[FieldError]]
#: Returns warnings about an accepted object: ``(obj, old)``.
Warnings = Callable[[JsonObject, JsonObject | None], list[str]]


class ServerContext(Struct, frozen=True):
    """What strategies of built-in kinds may use of their server; time and randomness come with each request."""

    objects: ObjectStore
    #: Whether every namespace gets its ServiceAccount ``default``, so that pods can be required to have an account.
    has_accounts: bool = False


class BuiltinKind(Struct, frozen=True):
    """One built-in kind: what the server does differently for it than for other kinds."""

    group: str
    kind: str
    #: The class of the strategy; ``None`` for `BuiltinStrategy`.
    strategy: "StrategyFactory | None" = None
    defaults: Defaults | None = None
    #: References to a `Validation`, to `Warnings` and to a tuple of columns; empty where the kind has none.
    validation: str = ""
    warnings: str = ""
    columns: str = ""
    #: Whether ``metadata.generation`` counts the changes of an object.
    counts_generations: bool = False
    #: The resource (``plural.group``) and version under which objects are stored, where two API groups or versions
    #: share one store.
    stored_as: str = ""
    stored_version: str = ""
    #: A warning for every request of the kind.
    deprecation: str = ""

    def validation_errors(self, obj: JsonObject, old: JsonObject | None, subresource: str) -> list[FieldError]:
        """Return what is wrong with an object beyond its metadata."""
        if not self.validation:
            return []
        validate: Validation = load(self.validation)
        return validate(obj, old, subresource)

    def validation_warnings(self, obj: JsonObject, old: JsonObject | None, subresource: str = "") -> list[str]:
        """Return warnings about an accepted object; writes of the status have none."""
        if not self.warnings or subresource == "status":
            return []
        warn: Warnings = load(self.warnings)
        return warn(obj, old)

    def table_columns(self) -> tuple[Column, ...]:
        """Return the columns that ``kubectl get`` prints; name and creation time where the kind has none of its own."""
        if not self.columns:
            return (NAME, CREATED_AT)
        columns: tuple[Column, ...] = load(self.columns)
        return columns


class ServedKind(Struct, frozen=True):
    """A built-in kind in one of its versions, as discovery lists it."""

    gvk: GroupVersionKind
    kind: BuiltinKind
    namespaced: bool
    has_status: bool


#: Creates the strategy of a kind in one version.
StrategyFactory = Callable[[ServedKind, ServerContext], Strategy]


@cache
def load(reference: str) -> Any:
    """Import what a reference of the form ``"<module>:<name>"`` names."""
    module, _, name = reference.partition(":")
    return getattr(import_module(f"steersman.apiserver.builtin.{module}"), name)
