"""What a path addresses: resource, namespace, object and subresource.

Pure text work. Whether such a resource exists is the catalog's business; what may be done with it the verbs'.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote_to_bytes

from msgspec import Struct

from steersman.apiserver.status import Refusal

#: Subresources of a namespace; any other third segment is a resource inside it.
_NAMESPACE_PARTS = frozenset({"status", "finalize"})


class MalformedTarget(Refusal):
    """The request line is not a URL; the response has no Status."""

    def __init__(self) -> None:
        super().__init__(400, "BadRequest", "400 Bad Request")


@dataclass(slots=True)
class Query:
    """The parameters of a request; Kubernetes reads the first value of most and all values of ``dryRun``."""

    values: dict[str, list[str]] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """Return the first value; empty if it is missing."""
        values = self.values.get(name)
        return values[0] if values else ""

    def flag(self, name: str) -> bool:
        """Read a boolean as Kubernetes does: anything but ``false`` and ``0`` is true once it is named."""
        values = self.values.get(name)
        return values is not None and values[0].lower() not in ("false", "0")

    def __contains__(self, name: str) -> bool:
        return name in self.values


class RequestInfo(Struct):
    """One parsed path under ``/api`` or ``/apis``."""

    group: str
    version: str
    resource: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    #: The rest of the path after the subresource, such as the path of a proxy request.
    rest: tuple[str, ...] = ()
    #: Whether the path used the old ``/watch/`` prefix.
    watch: bool = False
    #: Whether a namespace was named in the path, even an empty one.
    in_namespace: bool = False


_NO_QUERY = Query()


def split_target(target: str) -> tuple[str, Query]:
    """Return the decoded path and the parameters of a request target."""
    path, mark, text = target.partition("?")
    query = Query(_parameters(text)) if mark and text else _NO_QUERY
    if "%" not in path:
        return path, query
    pieces = path.split("%")
    if any(not _is_hex(piece[:2]) for piece in pieces[1:]):
        raise MalformedTarget
    return unquote_to_bytes(path).decode("utf-8", "replace"), query


def _is_hex(text: str) -> bool:
    return len(text) == 2 and all(char in "0123456789abcdefABCDEF" for char in text)  # noqa: PLR2004 - two digits


def _parameters(text: str) -> dict[str, list[str]]:
    # Most queries have nothing to decode.
    pairs = _plain_pairs(text) if "%" not in text and "+" not in text else parse_qsl(text, keep_blank_values=True)
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    return values


def _plain_pairs(text: str) -> Iterator[tuple[str, str]]:
    for part in text.split("&"):
        if part:
            name, _, value = part.partition("=")
            yield name, value


def parse_resource_path(path: str) -> RequestInfo | None:
    """Parse a path below a group version; return ``None`` for any other path, discovery included."""
    parts = path.split("/")[1:]
    if parts and parts[-1] == "":
        parts.pop()
    if len(parts) > 2 and parts[0] == "api":  # noqa: PLR2004 - api/version/…
        return _below("", parts[1], parts[2:])
    if len(parts) > 3 and parts[0] == "apis":  # noqa: PLR2004 - apis/group/version/…
        return _below(parts[1], parts[2], parts[3:])
    return None


def _below(group: str, version: str, parts: list[str]) -> RequestInfo:
    info = RequestInfo(group, version)
    if parts[0] == "watch" and len(parts) > 1:
        info.watch = True
        parts = parts[1:]
    if parts[0] == "namespaces" and len(parts) > 2 and parts[2] not in _NAMESPACE_PARTS:  # noqa: PLR2004 - namespaces/x/…
        info.namespace = parts[1]
        info.in_namespace = True
        parts = parts[2:]
    info.resource = parts[0]
    if len(parts) > 1:
        info.name = parts[1]
    if len(parts) > 2:  # noqa: PLR2004 - resource/name/subresource
        info.subresource = parts[2]
        info.rest = tuple(parts[3:])
    return info
