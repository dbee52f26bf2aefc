"""Finds the contents of Secrets in texts, and replaces them by ``<secret>``, before anything is kept or shown.

Two memories, because a text may quote a Secret that its own run has not read::

    Redactor       one run: also short values (4 to 7 characters) of the Secrets that this run has read
      └─ SecretMemory   the whole process: every value of at least 8 characters that any run has read or written

`SecretMemory` keeps no content. Of each value it keeps keyed digests, one for each form in which the value occurs in
texts (plain, escaped, base64, hex, in a URL), found by a hash of the first 8 characters. Short values are not
remembered beyond their run: ``admin`` and ``5432`` would then be masked in every text about any object.

What cannot be recognised: values that were copied out of a Secret before this process started and are not read again,
values of fewer than 4 characters, and parts of a value.
"""

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from secrets import token_bytes
from threading import Lock
from typing import Any, Final
from urllib.parse import quote, quote_plus

from msgspec import Struct
from msgspec.structs import replace

from steersman.history.records import ObjectName

#: What stands in the place of a secret.
MASK: Final = "<secret>"
#: Forms shorter than this are not masked: they would mask ordinary words.
SHORTEST: Final = 4
#: Forms shorter than this are masked only in texts of the run that has read them.
REMEMBERED: Final = 8
#: Values that are remembered at least; twice as many at most.
_VALUES: Final = 10_000
#: Characters of a text that is remembered to be without secrets, and the number of them.
_CLEAN_TEXT, _CLEAN_TEXTS = 100, 10_000
#: Texts that look like a credential, whatever their origin.
_SUSPECT: Final = (
    (re.compile(r"-----BEGIN [^-]+-----.*?(?:-----END [^-]+-----|$)", re.DOTALL), MASK),
    (re.compile(r"(\w://)[^/\s@]+@"), rf"\1{MASK}@"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{6,}"), rf"\1 {MASK}"),
)
#: Every text that matches one of the patterns contains one of these, which is faster to check.
_SIGNS: Final = re.compile(r"(?i)-----BEGIN|://|bearer|basic")
#: Fields of records that a server or the operator's code sets, not data.
_PLAIN: Final = frozenset({"controller", "uid", "version", "kind"})


def without_credentials(text: str) -> str:
    """Return a text with private keys, passwords in URLs, and bearer and basic credentials masked."""
    if _SIGNS.search(text) is None:
        return text
    for pattern, masked in _SUSPECT:
        text = pattern.sub(masked, text)
    return text


class _Generation:
    """Digests of up to `_VALUES` values."""

    def __init__(self) -> None:
        self.values: set[bytes] = set()
        #: By the hash of the first characters of a form: its lengths, longest first, and its digests.
        self.forms: dict[int, tuple[tuple[int, ...], set[bytes]]] = {}

    def add(self, form: str, digest: bytes) -> None:
        start = hash(form[:REMEMBERED])
        lengths, digests = self.forms.get(start, ((), set()))
        digests.add(digest)
        if len(form) not in lengths:
            self.forms[start] = tuple(sorted({*lengths, len(form)}, reverse=True)), digests


class SecretMemory:
    """Recognises every value that it has learned, without keeping any. Learn and mask from any thread."""

    def __init__(self) -> None:
        self._key = token_bytes(16)
        self._lock = Lock()
        #: Short texts without any of the values: names and messages come again and again.
        self._clean: set[str] = set()
        #: When the young generation is full it becomes the old one, so that values in use stay and others are dropped.
        self._young, self._old = _Generation(), _Generation()
        self._before_forgetting: Callable[[], None] | None = None

    def before_forgetting(self, action: Callable[[], None]) -> None:
        """Call a function before values are dropped: texts that are not masked yet could have them."""
        self._before_forgetting = action

    def learn(self, values: Iterable[bytes]) -> None:
        """Remember how to recognise values."""
        for value in values:
            if len(value) < SHORTEST:
                continue
            digest = self._digest(value)
            if digest not in self._young.values:
                self._add(value, digest)

    def _add(self, value: bytes, digest: bytes) -> None:
        with self._lock:
            if len(self._young.values) >= _VALUES:
                if self._before_forgetting is not None:
                    self._before_forgetting()
                self._young, self._old = _Generation(), self._young
            self._young.values.add(digest)
            self._clean = set()
            for form in set(_forms_of(value)):
                if len(form) >= REMEMBERED:
                    self._young.add(form, self._digest(form.encode("utf-8", "surrogatepass")))

    def _digest(self, data: bytes) -> bytes:
        return blake2b(data, digest_size=16, key=self._key).digest()

    def mask(self, text: str, known: str = "", shown: Callable[[str], str] = lambda _: MASK) -> str:
        """Return a text with every known value masked, except those that are part of ``known``.

        ``shown`` returns what stands in the place of a value.
        """
        if len(text) < REMEMBERED or text in self._clean:
            return text
        clean = self._clean
        generations = [one.forms for one in (self._young, self._old) if one.forms]
        starts = {hash(text[at : at + REMEMBERED]) for at in range(len(text) - REMEMBERED + 1)}
        if all(starts.isdisjoint(forms) for forms in generations):
            if len(text) <= _CLEAN_TEXT and len(clean) < _CLEAN_TEXTS:
                clean.add(text)
            return text
        parts, start, at = [], 0, 0
        while at <= len(text) - REMEMBERED:
            length = self._match(text, at, generations, known)
            if length:
                parts += [text[start:at], shown(text[at : at + length])]
                start = at = at + length
            else:
                at += 1
        return "".join([*parts, text[start:]])

    def _match(
        self, text: str, at: int, generations: list[dict[int, tuple[tuple[int, ...], set[bytes]]]], known: str
    ) -> int:
        """Return the length of the longest known form that begins at a position; 0 if none does."""
        start = hash(text[at : at + REMEMBERED])
        longest = 0
        for lengths, digests in (forms[start] for forms in generations if start in forms):
            for length in lengths:
                found = text[at : at + length]
                if length <= longest or len(found) < length or found in known:
                    continue
                if self._digest(found.encode("utf-8", "surrogatepass")) in digests:
                    longest = length
        return longest

    @property
    def has_values(self) -> bool:
        """Whether any value was learned, so that texts can have secrets at all."""
        return bool(self._young.values)

    def __len__(self) -> int:
        return len(self._young.values | self._old.values)

    def __repr__(self) -> str:
        return f"<SecretMemory of {len(self)} values>"


class Redactor:
    """Masks texts about one object: what its run has read, and what the process remembers.

    The object's own namespace and name are not masked: they are public, and it is found by them.
    """

    def __init__(self, memory: SecretMemory, secrets: Iterable[bytes] = (), *, about: ObjectName | None = None) -> None:
        self._memory = memory
        self._known = "" if about is None else "\n".join(about)
        short = {form for secret in secrets for form in _short_forms_of(secret)}
        self._short = sorted((form for form in short if form not in self._known), key=len, reverse=True)

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        text = self._memory.mask(text, self._known)
        for form in self._short:
            text = text.replace(form, MASK)
        return text

    def name(self, text: str) -> str:
        """Return a name or a path without secrets; short values are kept, for they are words there."""
        return self._memory.mask(text, self._known)

    def object(self, name: ObjectName) -> ObjectName:
        """Return the name of an object without secrets."""
        place, own = self.name(name.namespace), self.name(name.name)
        if place is name.namespace and own is name.name:
            return name
        return name._replace(namespace=place, name=own)

    def record(self, value: Any) -> Any:
        """Return a record, or a part of one, with every text in it masked."""
        if value.__class__ is str:
            return self.text(value)
        if isinstance(value, ObjectName):
            return self.object(value)
        if isinstance(value, Struct):
            fields = {name: getattr(value, name) for name in value.__struct_fields__ if name not in _PLAIN}
            masked = {name: self.record(one) for name, one in fields.items() if one}
            return replace(value, **masked)
        if isinstance(value, tuple):
            parts = map(self.record, value)
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        return value


def _short_forms_of(secret: bytes) -> Iterator[str]:
    """Yield the forms of a value that are too short to be remembered."""
    if len(secret) >= REMEMBERED and b"\n" not in secret:
        return
    text = secret.decode("utf-8", "replace")
    for form in (text, text.strip(), *map(str.strip, text.splitlines())):
        if SHORTEST <= len(form) < REMEMBERED:
            yield form


def _forms_of(secret: bytes) -> Iterator[str]:
    """Yield the forms of a value in texts: plain, by line, escaped, base64 (also twice, or in more), hex, URL."""
    text = secret.decode("utf-8", "replace")
    yield text
    yield text.strip()
    yield " ".join(text.split())
    yield from (line.strip() for line in text.splitlines())
    yield repr(text)[1:-1]
    yield repr(secret)[2:-1]
    yield ascii(text)[1:-1]
    yield json.dumps(text)[1:-1]
    yield json.dumps(text, ensure_ascii=False)[1:-1]
    yield secret.hex()
    yield secret.hex().upper()
    yield quote(text, safe="")
    yield quote(text)
    yield quote_plus(text)
    # Documents inside of texts of documents, and Secrets that hold what was encoded before.
    yield json.dumps(json.dumps(text)[1:-1])[1:-1]
    yield from _base64_forms_of(secret)
    yield from _base64_forms_of(b64encode(secret))


def _base64_forms_of(secret: bytes) -> Iterator[str]:
    """Yield base64 of a value, by itself and as it occurs inside of base64 of longer data, such as ``user:secret``.

    Four characters stand for three bytes, so there are three forms by where the value begins. The characters at either
    end that also stand for bytes of the surrounding data are left out.
    """
    yield b64encode(secret).decode()
    for before in (0, 1, 2):
        encoded = b64encode(b"\0" * before + secret).decode().rstrip("=")
        begin = (before * 8 + 5) // 6
        end = (before + len(secret)) * 8 // 6
        yield encoded[begin:end]
        yield encoded[begin:end].replace("+", "-").replace("/", "_")
