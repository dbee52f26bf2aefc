"""The text of a failure in conditions and events: the exception's type and text, on one line, short, without secrets.

More people can read conditions and events than the operator's log, and an exception may quote anything. Masked are the
contents of the Secrets that the run read, values that API servers quote, and text that looks like a credential:
passwords in URLs, ``password=…``, bearer tokens, private keys, long random strings. Text that an earlier run copied out
of a Secret and that looks like a word cannot be recognised.
"""

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import quote, quote_plus

from steersman.errors import text_of
from steersman.protocol.confidential import without_quoted_values

#: Maximum length of a message, in characters.
LIMIT: Final = 500
#: Secrets shorter than this are not masked: they would mask ordinary words.
_SHORTEST: Final = 4
_MASK: Final = "<secret>"
#: The end of a text that was cut.
_CUT: Final = "…"
_SUSPECT: Final = (
    (re.compile(r"-----BEGIN [^-]+-----.*?(?:-----END [^-]+-----|$)", re.DOTALL), _MASK),
    (re.compile(r"(\w://)[^/\s@]+@"), rf"\1{_MASK}@"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{6,}"), rf"\1 {_MASK}"),
    (
        re.compile(
            r"""(?ix) \b ( [\w-]* (?: passw(?:or)?d | passphrase | pwd | token | secret | api[_-]?key | credentials? ) )
            (["']? \s* [:=] \s*) (?: "[^"]*" | '[^']*' | [^\s"',;)}\]]+ )"""
        ),
        rf"\1\2{_MASK}",
    ),
    (re.compile(r"\b(?=[A-Za-z0-9+=]*\d)(?=[A-Za-z0-9+=]*[A-Za-z])[A-Za-z0-9+=]{32,}"), _MASK),
)


def failure_text(error: BaseException, secrets: Iterable[bytes] = ()) -> str:
    """Return a failure as one line of text; the contents of ``secrets`` are masked wherever they occur."""
    error = _cause_in_group(error)
    text = without_secrets(text_of(error), secrets)
    for pattern, mask in _SUSPECT:
        text = pattern.sub(mask, text)
    text = " ".join(without_quoted_values(text).split())
    shown = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return shown if len(shown) <= LIMIT else shown[: LIMIT - 1] + "…"


def _cause_in_group(error: BaseException) -> BaseException:
    """Return the first exception of a group: the text of the group only has their number."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def without_secrets(text: str, secrets: Iterable[bytes]) -> str:
    """Return a text with the contents of ``secrets`` masked, in all of their encodings."""
    return mask(text, secret_forms(secrets))


def secret_forms(secrets: Iterable[bytes]) -> tuple[str, ...]:
    """Return every form in which ``secrets`` occur in texts, the longest first: one may be a prefix of another."""
    forms = {form for secret in secrets for form in _forms_of(secret) if len(form) >= _SHORTEST}
    return tuple(sorted(forms, key=len, reverse=True))


def mask(text: str, forms: Iterable[str]) -> str:
    """Return a text with these forms of secrets masked."""
    for form in forms:
        text = text.replace(form, _MASK)
    return text


def mask_cut(text: str, forms: Sequence[str]) -> str:
    """Return a text that may have been cut at its end with these forms of secrets masked.

    Where a text was cut, the beginning of a secret may be left at its end, and that alone is not found as the secret.
    """
    text = mask(text, forms)
    if not text.endswith(_CUT):
        return text
    kept = text.removesuffix(_CUT)
    begun = max((_begun(kept, form) for form in forms), default=0)
    return f"{kept[: len(kept) - begun]}{_MASK}{_CUT}" if begun else text


def _begun(text: str, secret: str) -> int:
    """Return how many characters at the end of a text are the beginning of a secret; 0 if too few to tell."""
    longest = min(len(text), len(secret))
    return next((size for size in range(longest, _SHORTEST - 1, -1) if text.endswith(secret[:size])), 0)


def _forms_of(secret: bytes) -> Iterable[str]:
    """Yield the encodings of a secret that occur in messages: text, lines, escaped, base64, hex, and in a URL."""
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
    yield b64encode(secret).decode()
    yield secret.hex()
    yield quote(text, safe="")
    yield quote(text)
    yield quote_plus(text)
