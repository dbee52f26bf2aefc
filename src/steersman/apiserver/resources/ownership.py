"""Ownership of fields, for the verbs: ``managed_fields`` with the types of each kind."""

from steersman.apiserver.managed_fields import updater
from steersman.apiserver.managed_fields.endpoint import Endpoint, Versioned
from steersman.apiserver.resources.catalog import Catalog
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.apiserver.status import Refusal, cause_document, details
from steersman.errors import ApiError
from steersman.json_types import JsonObject


def refusal_of(error: ApiError) -> Refusal:
    """Return the rejection for a failure of the pure algorithms."""
    told = details(error.name, error.group, error.kind)
    if error.causes:
        told["causes"] = [cause_document(cause) for cause in error.causes]
    return Refusal(error.code, error.reason, error.message, details=told or None)


class Ownership:
    """Tracks the owners of fields across the versions of each kind."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        #: Made once per resource, version and subresource; dropped when the catalog changes.
        self._endpoints: dict[tuple[str, str, str], Endpoint | None] = {}
        self._revision = -1

    def endpoint(self, served: ServedResource, subresource: str) -> Endpoint | None:
        """Return the endpoint of a write; ``None`` for kinds without managed fields."""
        if self._revision != self._catalog.revision:
            self._endpoints.clear()
            self._revision = self._catalog.revision
        key = (served.stored_as, served.api_version, subresource)
        if key not in self._endpoints:
            self._endpoints[key] = self._make(served, subresource)
        return self._endpoints[key]

    def _make(self, served: ServedResource, subresource: str) -> Endpoint | None:
        tree = served.strategy.ownership_type()
        if tree is None:
            return None

        def convert(obj: JsonObject, api_version: str) -> Versioned | None:
            return self._in_version(served, obj, api_version, subresource)

        return Endpoint(
            api_version=served.api_version,
            type=tree,
            subresource=subresource,
            reset_fields=served.strategy.reset_fields.get(subresource, {}),
            empty=served.strategy.empty_object(),
            convert=convert,
            is_custom=not served.builtin,
        )

    def _in_version(
        self, served: ServedResource, obj: JsonObject, api_version: str, subresource: str
    ) -> Versioned | None:
        group, _, version = api_version.rpartition("/")
        other = self._catalog.find(group, version, served.plural)
        if other is None or other.stored_as != served.stored_as:
            return None
        source = self._catalog.find(*_split(obj.get("apiVersion", api_version)), served.plural) or served
        converted = other.strategy.from_stored(source.strategy.to_stored(obj), api_version)
        # A writer of a custom resource does not own the status in its own version only; other versions reset nothing.
        reset = other.strategy.reset_fields.get(subresource, {}) if served.builtin or subresource else {}
        return Versioned(converted, other.strategy.ownership_type(), reset)

    def created(
        self, served: ServedResource, obj: JsonObject, manager: str, time: str, subresource: str = ""
    ) -> JsonObject:
        """Return a new object with its creator as the owner."""
        endpoint = self.endpoint(served, subresource)
        return obj if endpoint is None else updater.create(obj, manager, endpoint=endpoint, time=time)

    def updated(
        self, served: ServedResource, live: JsonObject, obj: JsonObject, manager: str, time: str, subresource: str = ""
    ) -> JsonObject:
        """Return a changed object with its writer as the owner of the changes."""
        endpoint = self.endpoint(served, subresource)
        return obj if endpoint is None else updater.update(live, obj, manager, endpoint=endpoint, time=time)

    def applied(  # noqa: PLR0913 - the facts of one apply
        self,
        served: ServedResource,
        live: JsonObject | None,
        config: JsonObject,
        manager: str,
        time: str,
        *,
        force: bool,
        subresource: str = "",
    ) -> JsonObject:
        """Return the live object with a configuration applied."""
        endpoint = self.endpoint(served, subresource)
        if endpoint is None:
            raise Refusal(415, "UnsupportedMediaType", "this kind does not support server-side apply")
        before = endpoint.empty if live is None else live
        try:
            return updater.apply(before, config, manager, endpoint=endpoint, time=time, force=force)
        except ApiError as error:
            raise refusal_of(error) from None


def _split(api_version: str) -> tuple[str, str]:
    group, _, version = api_version.rpartition("/")
    return group, version
