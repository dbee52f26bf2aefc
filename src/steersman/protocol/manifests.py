"""Manifests: objects in YAML or JSON texts with any number of documents, read strictly and written plainly.

Values are what kubectl and the API server read (``golang.yaml_reader``). In addition, texts that are surely mistakes
are rejected: duplicate keys, which kubectl drops silently, and keys that are not strings, such as ``on:``.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from steersman.errors import DecodeError
from steersman.golang.yaml_reader import YamlDocument, YamlError, read_yaml_documents
from steersman.golang.yaml_writer import write_yaml
from steersman.json_types import JsonObject
from steersman.objects.codec import to_json
from steersman.objects.resource import KubeObject, Unstructured

#: Characters of one text; a server takes 3 MiB an object, and a file may hold many.
MAX_SIZE: Final = 64 * 1024 * 1024
#: Steps of work for one document, which may be a List of many objects.
MAX_STEPS: Final = 4_000_000


def load(text: str | bytes, *, source: str = "") -> list[JsonObject]:
    """Read every document of a text as JSON; empty documents are left out and ``List`` objects are opened.

    Raises ``DecodeError`` that names the source, the line and the key.
    """
    return [item for document in load_documents(text, source=source) for item in _opened(document, source)]


def load_documents(text: str | bytes, *, source: str = "") -> list[JsonObject]:
    """Read every document of a text as JSON, as strictly, even if it is not an object, such as a kubeconfig."""
    if len(text) > MAX_SIZE:
        raise DecodeError(f"{_place(source)}exceeds {MAX_SIZE} bytes")
    return list(_documents(text, source))


def load_objects(text: str | bytes, *, source: str = "") -> list[Unstructured]:
    """Read every object of a text."""
    return [Unstructured(document) for document in load(text, source=source)]


def dump(objects: Iterable[KubeObject | Unstructured | JsonObject]) -> str:
    """Write objects as YAML documents: fields in their order, no aliases, multi-line strings readable."""
    return write_yaml(obj if isinstance(obj, dict) else to_json(obj) for obj in objects)


def _documents(text: str | bytes, source: str) -> Iterator[JsonObject]:
    try:
        for document in read_yaml_documents(text, max_steps=MAX_STEPS):
            if (value := _checked(document, source)) is not None:
                yield value
    except YamlError as error:
        line = f"line {error.line}: " if error.line else ""
        raise DecodeError(f"{_place(source)}{line}{error.problem}") from None


def _checked(document: YamlDocument, source: str) -> JsonObject | None:
    """Return the object of a document, ``None`` for an empty one; raises ``DecodeError``."""
    for key in document.renamed:
        raise DecodeError(f"{_place(source)}line {key.line}: the key {key.key!r} is not a string: put it in quotes")
    for key in document.duplicates:
        if not key.is_merged:
            raise DecodeError(f"{_place(source)}line {key.line}: the key {key.key!r} is set twice")
    value = document.value
    if not value and not isinstance(value, (list, int)):
        return None
    if not isinstance(value, dict):
        what = f"a document must be an object, not {type(value).__name__}"
        raise DecodeError(f"{_place(source)}line {document.line}: {what}")
    return value


def _opened(document: JsonObject, source: str) -> list[JsonObject]:
    """Return the items of a ``v1/List``, or the object itself; raises ``DecodeError`` for anything else."""
    kind, api_version = document.get("kind"), document.get("apiVersion")
    if not isinstance(kind, str) or not isinstance(api_version, str):
        found = ", ".join(sorted(document)[:5]) or "nothing"
        raise DecodeError(f"{_place(source)}a document needs apiVersion and kind; it has only: {found}")
    if (api_version, kind) != ("v1", "List"):
        return [document]
    items = document.get("items") or []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise DecodeError(f"{_place(source)}the items of a List must be objects")
    return [found for item in items for found in _opened(item, source)]


def _place(source: str) -> str:
    return f"{source}: " if source else ""
