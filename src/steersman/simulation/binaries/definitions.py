"""Reads the CRDs that a program needs from files and folders; those of old projects become current ones. Pure."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from steersman.errors import ConfigError, DecodeError
from steersman.json_types import JsonObject
from steersman.objects.resource import Unstructured
from steersman.protocol.manifests import load_documents

_KIND = "CustomResourceDefinition"
_GROUP = "apiextensions.k8s.io"
_ENDINGS = frozenset({".yaml", ".yml", ".json"})


def read_definitions(paths: Iterable[Path]) -> list[Unstructured]:
    """Return every CRD in files and folders; other documents, such as a kustomization, are left out."""
    found = [Unstructured(_current(document)) for path in paths for document in _documents(path)]
    return list({definition.name: definition for definition in found}.values())


def _documents(path: Path) -> Iterator[JsonObject]:
    files = sorted(file for file in path.rglob("*") if file.suffix in _ENDINGS) if path.is_dir() else [path]
    seen = False
    for file in files:
        try:
            documents = load_documents(file.read_bytes(), source=str(file))
        except (OSError, DecodeError) as error:
            raise ConfigError(f"--crds: {error}") from None
        for document in documents:
            if document.get("kind") == _KIND:
                seen = True
                yield document
    if not seen:
        raise ConfigError(f"--crds {path}: there is no {_KIND} in it")


def _current(document: JsonObject) -> JsonObject:
    """Return a CRD in version v1; v1beta1, which is no longer served, keeps some fields of versions beside them."""
    if document.get("apiVersion") != f"{_GROUP}/v1beta1":
        return document
    spec = dict(document["spec"])
    schema = (spec.pop("validation", None) or {}).get("openAPIV3Schema")
    columns = [_column(one) for one in spec.pop("additionalPrinterColumns", None) or ()]
    subresources = spec.pop("subresources", None)
    is_kept = spec.pop("preserveUnknownFields", True)
    versions = spec.get("versions") or [{"name": spec.get("version"), "served": True, "storage": True}]
    spec.pop("version", None)
    spec["versions"] = [_version(one, schema, columns, subresources, is_kept=bool(is_kept)) for one in versions]
    return {**document, "apiVersion": f"{_GROUP}/v1", "spec": spec}


def _version(
    version: JsonObject, schema: JsonObject | None, columns: list[JsonObject], subresources: object, *, is_kept: bool
) -> JsonObject:
    own = dict(version.get("schema") or {})
    structure = dict(own.get("openAPIV3Schema") or schema or {})
    structure.setdefault("type", "object")
    if is_kept:
        structure["x-kubernetes-preserve-unknown-fields"] = True
    result: JsonObject = {**version, "schema": {"openAPIV3Schema": structure}}
    own_columns = [_column(one) for one in version.get("additionalPrinterColumns") or ()] or columns
    if own_columns:
        result["additionalPrinterColumns"] = own_columns
    if "subresources" not in version and subresources is not None:
        result["subresources"] = subresources
    return result


def _column(column: JsonObject) -> JsonObject:
    return {("jsonPath" if key == "JSONPath" else key): value for key, value in column.items()}
