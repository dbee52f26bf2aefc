"""`Versions`: all versions of one kind, and the way of an object from any of them to any other.

The stored version is the hub: where no conversion was declared for two versions, the way leads over it. Versions
without any declared conversion differ only in their name, as for a server without a conversion webhook.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from steersman.errors import ConversionError, DeclarationError
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json, encode_json
from steersman.objects.resource import KubeObject, Resource, resource_of
from steersman.schema.conversions import Conversion, conversion_between, has_conversions
from steersman.schema.crd import check_same_kind, schema_of, stored_of
from steersman.schema.declaration import declaration_of, is_custom, names_of, place_of
from steersman.schema.field_loss import lost_fields
from steersman.schema.kept_fields import annotation_of, bring_back, keep, take_kept
from steersman.structural.compiled import CompiledSchema, compile_schema

CustomClass = type[Resource[Any, Any]]
#: What a conversion may change in the metadata of an object.
_FREE = ("labels", "annotations")
_SAME = Conversion(lambda document: document, (), "no conversion")


class Version:
    """One version of a kind."""

    def __init__(self, kind: CustomClass) -> None:
        self.kind = kind
        self.gvk = declaration_of(kind).resource.gvk

    @cached_property
    def schema(self) -> CompiledSchema:
        """Its schema, compiled when it is first needed."""
        return compile_schema(schema_of(self.kind))

    def is_valid(self, document: JsonObject) -> bool:
        """Return whether a server would take an object."""
        return not self.schema.validate(document).errors

    def __repr__(self) -> str:
        return f"<Version {self.gvk}>"


class Versions:
    """The versions of one kind, with a conversion between any two of them; the constructor rejects anything else."""

    def __init__(self, kinds: Sequence[CustomClass]) -> None:
        check_same_kind(*kinds)
        self.all = tuple(Version(kind) for kind in kinds)
        self.hub = next(version for version in self.all if version.kind is stored_of(*kinds))
        self.is_converted = has_conversions(kinds)
        self._by_api_version = {version.gvk.api_version: version for version in self.all}
        for source in self.all:
            for target in self.all:
                self._way(source, target)

    @property
    def name(self) -> str:
        """The kind, with its group."""
        return f"{self.hub.gvk.kind}.{self.hub.gvk.group}"

    def convert(self, document: JsonObject, api_version: str) -> JsonObject:
        """Return an object in another version; the given one is not changed.

        Nothing is lost in a conversion to the stored version: an object whose fields would not come back is rejected
        with a `ConversionError` that names them. Conversions to other versions are only for reading.
        """
        made = self.carry(document, api_version)
        source = self.find(str(document.get("apiVersion")))
        if made["apiVersion"] == self.hub.gvk.api_version and source is not self.hub:
            back = self.carry(made, source.gvk.api_version)
            given = _copied(document)
            for version in self.all:
                take_kept(given, annotation_of(version.gvk.group, version.gvk.version))
            if lost := lost_fields(given, back, source.kind):
                why = f"{', '.join(lost)} would be lost"
                raise ConversionError(f"{_name_of(document)} cannot become {self.hub.gvk.version}: {why}")
        return made

    def carry(self, document: JsonObject, api_version: str) -> JsonObject:
        """Return an object in another version, even if fields are lost."""
        source, target = self.find(str(document.get("apiVersion"))), self.find(api_version)
        made = document
        try:
            for here, there, conversion in self._way(source, target):
                made = self._step(made, here, there, conversion)
        except ConversionError as error:
            raise ConversionError(f"{_name_of(document)} cannot become {target.gvk.version}: {error}") from error
        return made

    def find(self, api_version: str) -> Version:
        """Return a version by its name with the group; raise `ConversionError` for an undeclared one."""
        found = self._by_api_version.get(api_version)
        if found is None:
            known = ", ".join(self._by_api_version)
            raise ConversionError(f"there is no version {api_version!r} of {self.name}: there are {known}")
        return found

    def _way(self, source: Version, target: Version) -> list[tuple[Version, Version, Conversion]]:
        if source is target:
            return []
        if not self.is_converted:
            return [(source, target, _SAME)]
        direct = conversion_between(source.kind, target.kind)
        if direct is not None:
            return [(source, target, direct)]
        if self.hub in (source, target):
            one, other = names_of(source.kind, target.kind)
            raise DeclarationError(
                f"{self.name}: nothing converts {source.gvk.version} to {target.gvk.version}: write "
                f"@converts({one}, {other}) at {place_of(target.kind)}, or "
                f"renames({one}, {other}, {{…}}) for both directions"
            )
        return [*self._way(source, self.hub), *self._way(self.hub, target)]

    def _step(self, document: JsonObject, source: Version, target: Version, conversion: Conversion) -> JsonObject:
        before = _copied(document)
        kept = take_kept(before, annotation_of(target.gvk.group, target.gvk.version))
        made = self._changed(before, target, conversion)
        reverse = self._declared(target, source)
        if kept and reverse is not None:
            bring_back(made, kept, reverse.keeps, target.is_valid)
        if conversion.keeps:
            back = self._changed(made, source, reverse) if reverse is not None else before
            annotation = annotation_of(source.gvk.group, source.gvk.version)
            keep(before, made, back, conversion.keeps, annotation)
        return made

    def _declared(self, source: Version, target: Version) -> Conversion | None:
        return conversion_between(source.kind, target.kind) if self.is_converted else _SAME

    @staticmethod
    def _changed(document: JsonObject, target: Version, conversion: Conversion) -> JsonObject:
        made = conversion.change(_copied(document))
        made["apiVersion"], made["kind"] = target.gvk.api_version, target.gvk.kind
        made["metadata"] = _metadata(document["metadata"], made.get("metadata") or {}, conversion.name)
        if "status" not in document:
            # The class sets an absent status to its empty value; here it stays absent.
            made.pop("status", None)
        target.schema.prune(made)
        return made


def _metadata(before: JsonObject, made: JsonObject, name: str) -> JsonObject:
    """Return the metadata of a converted object: as it was, with the labels and annotations that the function gave."""
    for key in ("name", "namespace", "uid"):
        if made.get(key) and made[key] != before.get(key):
            raise ConversionError(f"{name} changed metadata.{key}, which is not for conversions to change")
    kept = {key: value for key, value in before.items() if key not in _FREE}
    return kept | {key: made[key] for key in _FREE if made.get(key)}


def _copied(document: JsonObject) -> JsonObject:
    copy: JsonObject = decode_json(encode_json(document))
    copy.setdefault("metadata", {})
    return copy


def _name_of(document: JsonObject) -> str:
    """Return the name of an object for messages."""
    metadata = document.get("metadata") or {}
    place = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
    return f"{document.get('kind')} {place}{metadata.get('name') or '(without a name)'}"


def versions_of(kinds: Iterable[type[KubeObject]]) -> list[tuple[CustomClass, ...]]:
    """Return the custom ones among some kinds, grouped by kind, in the order of their first version."""
    found: dict[tuple[str, str], list[Any]] = {}
    for kind in dict.fromkeys(kinds):
        if is_custom(kind):
            gvk = resource_of(kind).gvk
            found.setdefault((gvk.group, gvk.kind), []).append(kind)
    return [tuple(versions) for versions in found.values()]
