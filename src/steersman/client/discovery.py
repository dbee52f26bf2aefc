"""`Discovery`: which kinds a server serves, and where. Cached; requested again if a kind is missing."""

import asyncio
from collections.abc import Callable

from msgspec import Struct

from steersman.clock import Clock
from steersman.errors import ApiError, DecodeError, NotFound, ServiceUnavailable
from steersman.objects.codec import decode_as
from steersman.objects.identity import ApiResource, GroupVersion, GroupVersionKind, GroupVersionResource
from steersman.protocol.http import Request, Response
from steersman.protocol.responses import body_of, kind_not_served
from steersman.transport.base import Transport

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
#: Minimum seconds between two requests, even if a kind is missing.
REFRESH_AT_MOST_EVERY = 1.0


class _ResponseKind(Struct):
    kind: str = ""
    group: str = ""
    version: str = ""


class _Subresource(Struct):
    subresource: str


class _AggregatedResource(Struct, rename="camel"):
    resource: str
    scope: str = "Namespaced"
    response_kind: _ResponseKind | None = None
    singular_resource: str = ""
    short_names: list[str] | None = None
    categories: list[str] | None = None
    subresources: list[_Subresource] | None = None


class _AggregatedVersion(Struct):
    version: str
    resources: list[_AggregatedResource] | None = None


class _Name(Struct):
    name: str = ""


class _AggregatedGroup(Struct):
    metadata: _Name
    versions: list[_AggregatedVersion] | None = None


class _AggregatedList(Struct):
    kind: str
    items: list[_AggregatedGroup] | None = None


class _Resource(Struct, rename="camel"):
    name: str
    kind: str = ""
    namespaced: bool = True
    singular_name: str = ""
    short_names: list[str] | None = None
    categories: list[str] | None = None


class _ResourceList(Struct):
    resources: list[_Resource] | None = None


class _Version(Struct, rename="camel"):
    group_version: str


class _Group(Struct, rename="camel"):
    versions: list[_Version]
    preferred_version: _Version | None = None


class _GroupList(Struct):
    groups: list[_Group] | None = None


class _CoreVersions(Struct):
    versions: list[str] | None = None


class Discovery:
    """Find kinds by their names. The first call, and calls for a missing kind, send requests."""

    def __init__(self, transport: Transport, *, clock: Clock) -> None:
        self._transport = transport
        self._clock = clock
        #: In the server's order of preference. Invariant: replaced as a whole, never changed.
        self._resources: tuple[ApiResource, ...] | None = None
        self._requested_at = 0.0
        self._requesting = asyncio.Lock()

    def __repr__(self) -> str:
        return f"<Discovery resources={'?' if self._resources is None else len(self._resources)}>"

    async def resource(self, gvk: GroupVersionKind) -> ApiResource:
        """Return how a kind is served; raise ``KindNotServed`` if it is not."""
        return await self._first(lambda resource: resource.gvk == gvk, str(gvk))

    async def served_at(self, gvr: GroupVersionResource) -> ApiResource:
        """Return the resource of exactly this group, version and plural; raise ``KindNotServed`` if there is none."""
        return await self._first(lambda resource: resource.gvr == gvr, str(gvr))

    async def is_served(self, gvr: GroupVersionResource) -> bool:
        """Return whether a resource is served now, by a response that is at most a second old."""
        if self._resources is None or self._clock.monotonic() - self._requested_at >= REFRESH_AT_MOST_EVERY:
            await self.refresh()
        return any(resource.gvr == gvr for resource in await self.resources())

    async def find(self, name: str) -> ApiResource:
        """Return a resource by one of its names: kind, plural, singular or short name, also with group and version.

        ``deploy``, ``Deployment``, ``deployments.apps`` and ``deployments.v1.apps`` are the same. If several groups
        serve a name, the group that the server lists first counts.
        """
        wanted = name.lower()
        return await self._first(lambda resource: wanted in _names(resource), name)

    async def resources(self) -> tuple[ApiResource, ...]:
        """Return all served resources, in the server's order of preference."""
        if self._resources is None:
            await self.refresh()
        return self._resources or ()

    async def refresh(self) -> None:
        """Request the resources again; concurrent calls share one request."""
        requested_at = self._requested_at
        async with self._requesting:
            if self._resources is None or self._requested_at == requested_at:
                self._resources = await self._request()
                self._requested_at = self._clock.monotonic()

    async def _first(self, fits: Callable[[ApiResource], bool], name: str) -> ApiResource:
        found = next(filter(fits, await self.resources()), None)
        if found is None and self._clock.monotonic() - self._requested_at >= REFRESH_AT_MOST_EVERY:
            await self.refresh()
            found = next(filter(fits, await self.resources()), None)
        if found is None:
            raise kind_not_served(name)
        return found

    # Requests.

    async def _request(self) -> tuple[ApiResource, ...]:
        core, groups = await self._aggregated("/api"), await self._aggregated("/apis")
        if core is None or groups is None:
            return tuple(await self._legacy())
        return tuple(resource for group in (*core, *groups) for resource in _of_group(group))

    async def _aggregated(self, path: str) -> list[_AggregatedGroup] | None:
        """Return all groups below a path by one request; ``None`` if the server does not support that."""
        response = await self._get(path, f"{_AGGREGATED},application/json")
        try:
            answer = decode_as(_AggregatedList, body_of(response))
        except (ApiError, DecodeError):
            return None
        return (answer.items or []) if answer.kind == "APIGroupDiscoveryList" else None

    async def _legacy(self) -> list[ApiResource]:
        core = decode_as(_CoreVersions, body_of(await self._get("/api")))
        groups = decode_as(_GroupList, body_of(await self._get("/apis")))
        found = []
        for version in core.versions or ():
            found += await self._legacy_version(version, f"/api/{version}")
        for group in groups.groups or ():
            for group_version in _by_preference(group):
                found += await self._legacy_version(group_version, f"/apis/{group_version}")
        return found

    async def _legacy_version(self, api_version: str, path: str) -> list[ApiResource]:
        try:
            answer = decode_as(_ResourceList, body_of(await self._get(path)))
        except (ServiceUnavailable, NotFound):
            # An aggregated API that is down or was deleted: the others are still served.
            return []
        return _of_version(GroupVersion.parse(api_version), answer.resources or [])

    async def _get(self, path: str, accept: str = "application/json") -> Response:
        return await self._transport.request(Request("GET", path, {"accept": accept}))


def _names(resource: ApiResource) -> set[str]:
    """Return all names of a resource, in lower case."""
    group, version, kind = resource.gvk
    names = {kind.lower(), resource.plural, resource.singular.lower(), *resource.short_names} - {""}
    endings = [f".{version}", f".{version}.{group}", f".{group}"] if group else [f".{version}"]
    return names | {name + ending for name in names for ending in endings}


def _of_group(group: _AggregatedGroup) -> list[ApiResource]:
    found = []
    for version in group.versions or ():
        for resource in version.resources or ():
            if resource.response_kind is None or not resource.response_kind.kind:
                continue
            found.append(
                ApiResource(
                    gvk=GroupVersionKind(group.metadata.name, version.version, resource.response_kind.kind),
                    plural=resource.resource,
                    singular=resource.singular_resource,
                    namespaced=resource.scope == "Namespaced",
                    short_names=tuple(resource.short_names or ()),
                    categories=tuple(resource.categories or ()),
                    subresources=frozenset(sub.subresource for sub in resource.subresources or ()),
                )
            )
    return found


def _of_version(group_version: GroupVersion, resources: list[_Resource]) -> list[ApiResource]:
    subresources: dict[str, set[str]] = {}
    for resource in resources:
        plural, slash, subresource = resource.name.partition("/")
        if slash:
            subresources.setdefault(plural, set()).add(subresource)
    return [
        ApiResource(
            gvk=GroupVersionKind(*group_version, resource.kind),
            plural=resource.name,
            singular=resource.singular_name,
            namespaced=resource.namespaced,
            short_names=tuple(resource.short_names or ()),
            categories=tuple(resource.categories or ()),
            subresources=frozenset(subresources.get(resource.name, ())),
        )
        for resource in resources
        if "/" not in resource.name
    ]


def _by_preference(group: _Group) -> list[str]:
    versions = [version.group_version for version in group.versions]
    preferred = group.preferred_version.group_version if group.preferred_version else ""
    return sorted(versions, key=lambda version: version != preferred)
