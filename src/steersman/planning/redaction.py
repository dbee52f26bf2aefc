"""`Redaction`: no output of a plan has the content of a Secret. Hashes stand in its place.

A plan shows whole objects, so that it masks more than the history does: also values of 4 to 7 characters, numbers, and
keys of maps, wherever they occur. A short value is masked only where it stands by itself, not inside of a word:
``admin`` is masked in ``user=admin``, and not in ``administration``. Names, namespaces and kinds of objects are public
and stay.

Every Secret counts that the plan has seen: read from the cluster, written, rejected, or deleted again.

What cannot be recognised: values of fewer than 4 characters, and parts of a value.
"""

import hashlib
import hmac
import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterable
from secrets import token_bytes
from typing import Any, Final, TypeVar, cast

from steersman.controller.recording.secret_learning import secret_values
from steersman.history.redaction import REMEMBERED, SHORTEST, SecretMemory
from steersman.json_types import JsonObject
from steersman.planning.changes import Place
from steersman.planning.shadow import metadata_of
from steersman.protocol.confidential import is_confidential_resource

T = TypeVar("T")

_SECRETS: Final = "secrets"
_PARTS: Final = ("data", "stringData")
_WORD: Final = re.compile(r"\w")
#: Fields of every object whose values are public, and by which it is found.
_PUBLIC: Final = frozenset({"kind", "apiVersion", "namespace", "name", "uid"})


class Redaction:
    """Replaces the contents of Secrets by hashes that only mean something within one plan."""

    def __init__(self, memory: SecretMemory, key: bytes = b"") -> None:
        self._memory = memory
        # A plain hash of a short password can be found by trying; without the key it cannot.
        self._key = key or token_bytes(32)
        #: Values that are too short for the memory, and their beginnings.
        self._short: set[str] = set()
        self._starts: set[str] = set()

    def learn(self, place: Place, body: bytes) -> None:
        """Recognise the values of a Secret, a list of them or a patch from now on; ignore other resources."""
        if place.resource != _SECRETS:
            return
        values = secret_values(body)
        self._memory.learn(values)
        # A Secret with a token has its own namespace among its values.
        public = {place.namespace.encode(), place.name.encode()}
        self._add_short(value for value in values if value not in public)

    def _add_short(self, values: Iterable[bytes]) -> None:
        for value in values:
            text = value.decode("utf-8", "replace")
            for form in (text.strip(), *map(str.strip, text.splitlines())):
                if SHORTEST <= len(form) < REMEMBERED:
                    self._short.add(form)
                    self._starts.add(form[:SHORTEST])

    def document(self, resource: str, document: JsonObject) -> JsonObject:
        """Return an object without the contents of Secrets."""
        if is_confidential_resource(resource.partition(".")[0]):
            document = self._secret(document)
        metadata = metadata_of(document)
        public = {name: value for name, value in metadata.items() if name in _PUBLIC}
        shown: JsonObject = {name: value if name in _PUBLIC else self.masked(value) for name, value in document.items()}
        return {**shown, "metadata": {**shown["metadata"], **public}} if metadata else shown

    def _secret(self, document: JsonObject) -> JsonObject:
        """Return a Secret with the values of its data as hashes."""
        hidden = {
            part: {name: self._hash(_plain(part, value)) for name, value in values.items()}
            for part in _PARTS
            if isinstance(values := document.get(part), dict)
        }
        metadata = dict(metadata_of(document))
        if annotations := metadata.get("annotations"):
            # That of `kubectl apply` holds the whole Secret.
            metadata["annotations"] = {name: self._hash(str(value).encode()) for name, value in annotations.items()}
        return {**document, "metadata": metadata, **hidden}

    def _hash(self, value: bytes) -> str:
        return f"<hash {hmac.new(self._key, value, hashlib.sha256).hexdigest()[:12]}>"

    def _shown(self, text: str) -> str:
        return self._hash(text.encode("utf-8", "surrogatepass"))

    def masked(self, value: T) -> T:
        """Return a JSON value with the contents of Secrets masked in its texts, numbers and keys."""
        return cast("T", self._masked(value)) if self._memory.has_values else value

    def _masked(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {self.text(key): self._masked(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._masked(inner) for inner in value]
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            shown = self.text(str(value))
            return value if shown == str(value) else shown
        return value

    def text(self, text: str) -> str:
        """Return a text with the contents of Secrets as hashes."""
        text = self._memory.mask(text, shown=self._shown)
        if not self._short or len(text) < SHORTEST:
            return text
        parts, begin, at = [], 0, 0
        while at <= len(text) - SHORTEST:
            end = self._short_at(text, at) if text[at : at + SHORTEST] in self._starts else 0
            if end:
                parts += [text[begin:at], self._shown(text[at:end])]
                begin = end
            at = max(end, at + 1)
        return "".join([*parts, text[begin:]])

    def _short_at(self, text: str, at: int) -> int:
        """Return the end of the longest short value that stands by itself at a position; 0 if none does."""
        for end in range(min(at + REMEMBERED - 1, len(text)), at + SHORTEST - 1, -1):
            if text[at:end] in self._short and not (_is_inside(text, at) or _is_inside(text, end)):
                return end
        return 0


def _is_inside(text: str, at: int) -> bool:
    """Return whether a position is inside of a word."""
    return 0 < at < len(text) and bool(_WORD.match(text[at - 1]) and _WORD.match(text[at]))


def _plain(part: str, value: object) -> bytes:
    """Return the value of a Secret as bytes, so that a copy of it has the same hash."""
    text = str(value).encode("utf-8", "surrogatepass")
    try:
        return b64decode(text, validate=True) if part == "data" else text
    except (NotBase64, ValueError):
        return text
