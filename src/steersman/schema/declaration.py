"""`@custom_resource`: a class becomes a kind, with everything that its CRD declares beside the schema.

What can be validated from the declaration alone is validated at once. Schemas are built and validated by `schema.crd`,
because models may refer to models that are written below them.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar
from weakref import WeakKeyDictionary

from steersman.errors import DeclarationError
from steersman.objects.identity import ApiResource, GroupVersion, GroupVersionKind
from steersman.objects.registry import Registry, declare, registry
from steersman.objects.resource import Resource
from steersman.schema.constraints import Rule
from steersman.structural.crd.protected_groups import is_protected_group
from steersman.validation.names import dns1035_faults, kind_faults, subdomain_faults

_SIBILANTS: Final = ("s", "x", "z", "ch", "sh")
_VOWELS: Final = frozenset("aeiou")


def plural_of(kind: str) -> str:
    """Return the plural of a kind in lower case: `FooBar` → `foobars`, `Policy` → `policies`, `Mgors` → `mgorses`."""
    word = kind.lower()
    if word.endswith(_SIBILANTS):
        return f"{word}es"
    if word.endswith("y") and word[-2:-1] not in _VOWELS:
        return f"{word[:-1]}ies"
    return f"{word}s"


R = TypeVar("R", bound=Resource[Any, Any])

Scope = Literal["Namespaced", "Cluster"]
ColumnType = Literal["", "string", "integer", "number", "boolean", "date"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column that `kubectl get` prints; its type defaults to that of the field at its path."""

    name: str
    path: str
    type: ColumnType = ""
    format: str = ""
    description: str = ""
    #: Columns above 0 are printed only by `-o wide`.
    priority: int = 0

    def __post_init__(self) -> None:
        if not self.path.startswith("."):
            raise DeclarationError(f"Column({self.name!r}, {self.path!r}): a path starts with a dot: '.status.phase'")


@dataclass(frozen=True, slots=True)
class Scale:
    """The `/scale` subresource: where replicas are wished and counted, and where their selector is written."""

    spec: str
    status: str
    selector: str = ""

    def __post_init__(self) -> None:
        for path, root in ((self.spec, ".spec."), (self.status, ".status.")):
            if not path.startswith(root):
                raise DeclarationError(f"{self}: {path!r} must be a path under {root[:-1]}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """How a class was declared."""

    resource: ApiResource
    columns: tuple[Column, ...] = ()
    scale: Scale | None = None
    status: bool = True
    #: `None` if not declared: the only version of a kind is its stored one.
    storage: bool | None = None
    served: bool = True
    deprecated: bool = False
    deprecation_warning: str = ""
    selectable_fields: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    api_approved: str = ""


_DECLARATIONS: "WeakKeyDictionary[type, Declaration]" = WeakKeyDictionary()


def place_of(cls: type) -> str:
    """Return the name, version, file and line of a class: classes of two versions often have the same name."""
    declared = _DECLARATIONS.get(cls)
    version = f" {declared.resource.gvk.version}" if declared is not None else ""
    try:
        line = inspect.getsourcelines(cls)[1]
        return f"{cls.__qualname__}{version} ({inspect.getsourcefile(cls)}:{line})"
    except (OSError, TypeError):
        return f"{cls.__module__}.{cls.__qualname__}{version}"


def names_of(one: type, other: type) -> tuple[str, str]:
    """Return the names of two classes for use in suggested code, with their modules where the names alone are equal."""
    if one.__name__ != other.__name__:
        return one.__name__, other.__name__
    modules = one.__module__, other.__module__
    shortened = [module.rpartition(".")[2] for module in modules]
    first, second = shortened if shortened[0] != shortened[1] else modules
    return f"{first}.{one.__name__}", f"{second}.{other.__name__}"


def _refuse(kind: type, what: str) -> DeclarationError:
    return DeclarationError(f"{place_of(kind)}: {what}")


def _group_version(kind: type, text: str) -> GroupVersion:
    try:
        found = GroupVersion.parse(text)
    except ValueError as error:
        raise _refuse(kind, str(error)) from None
    if "." not in found.group:
        raise _refuse(kind, f"{text!r}: the group of a custom resource is a domain with at least one dot")
    if faults := subdomain_faults(found.group):
        raise _refuse(kind, f"the group {found.group!r} is invalid: {faults[0]}")
    if faults := dns1035_faults(found.version):
        raise _refuse(kind, f"the version {found.version!r} is invalid: {faults[0]}")
    return found


def _check_names(kind: type, resource: ApiResource) -> None:
    for what, names in (
        ("plural", (resource.plural,)),
        ("singular", (resource.singular,)),
        ("short name", resource.short_names),
        ("category", resource.categories),
    ):
        for name in names:
            if faults := dns1035_faults(name):
                raise _refuse(kind, f"the {what} {name!r} is invalid: {faults[0]}")


def _check_approval(kind: type, group: str, approval: str) -> None:
    if is_protected_group(group) and not approval:
        raise _refuse(
            kind,
            f"the group {group!r} belongs to the Kubernetes community: pass api_approved='<URL of the approval>', "
            "or 'unapproved, experimental-only'",
        )


def custom_resource(  # noqa: PLR0913 - the fields of a CustomResourceDefinition
    api_version: str,
    *,
    kind: str = "",
    plural: str = "",
    singular: str = "",
    scope: Scope = "Namespaced",
    short_names: Sequence[str] = (),
    categories: Sequence[str] = (),
    columns: Sequence[Column] = (),
    scale: Scale | None = None,
    status: bool = True,
    storage: bool | None = None,
    served: bool = True,
    deprecated: bool = False,
    deprecation_warning: str = "",
    selectable_fields: Sequence[str] = (),
    rules: Sequence[Rule] = (),
    api_approved: str = "",
    into: Registry = registry,
) -> Callable[[type[R]], type[R]]:
    """Return a decorator that makes a `Resource` class a custom kind, served under ``group/version``.

    Names default to those of the class: kind `FooBar`, singular `foobar`, plural `foobars`. Raises `DeclarationError`
    that names the class, its file and what is wrong.
    """

    def decorate(cls: type[R]) -> type[R]:
        group, version = _group_version(cls, api_version)
        name = kind or cls.__name__
        if faults := kind_faults(name):
            raise _refuse(cls, f"the kind {name!r} is invalid: {faults[0]}")
        try:
            resource = ApiResource(
                gvk=GroupVersionKind(group, version, name),
                plural=plural or plural_of(name),
                singular=singular or name.lower(),
                namespaced=scope == "Namespaced",
                short_names=tuple(short_names),
                categories=tuple(categories),
                subresources=frozenset({"status"} if status else ()) | ({"scale"} if scale else frozenset()),
            )
        except DeclarationError as error:
            raise _refuse(cls, str(error)) from None
        _check_names(cls, resource)
        _check_approval(cls, group, api_approved)
        if deprecation_warning and not deprecated:
            raise _refuse(cls, "deprecation_warning is only for deprecated versions: pass deprecated=True")
        _DECLARATIONS[cls] = Declaration(
            resource=resource,
            columns=tuple(columns),
            scale=scale,
            status=status,
            storage=storage,
            served=served,
            deprecated=deprecated,
            deprecation_warning=deprecation_warning,
            selectable_fields=tuple(selectable_fields),
            rules=tuple(rules),
            api_approved=api_approved,
        )
        return declare(resource, into)(cls)

    return decorate


def declaration_of(kind: type) -> Declaration:
    """Return the declaration of a class; raise `DeclarationError` for a class without `@custom_resource`."""
    found = _DECLARATIONS.get(kind)
    if found is None:
        raise _refuse(kind, 'it is not a custom kind: decorate it with @custom_resource("group/version")')
    return found


def is_custom(kind: type) -> bool:
    """Return whether a kind is a custom one, which needs a CRD."""
    return kind in _DECLARATIONS
