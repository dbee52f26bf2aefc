"""The text of a failure in conditions and events: the exception's type and text, on one line, short, without secrets.

More people can read conditions and events than the operator's log, and an exception may quote anything. Masked are the
contents of Secrets (``history/redaction``), values that API servers quote, and text that looks like a credential:
passwords in URLs, ``password=…``, bearer tokens, private keys, long random strings.
"""

import re
from collections.abc import Callable
from typing import Final

from steersman.errors import text_of
from steersman.history.redaction import MASK, without_credentials
from steersman.protocol.confidential import without_quoted_values

#: Maximum length of a message, in characters.
LIMIT: Final = 500
#: Passwords by their names, and long random strings: only in failures, which do not need them.
_SUSPECT: Final = (
    (
        re.compile(
            r"""(?ix) \b ( [\w-]* (?: passw(?:or)?d | passphrase | pwd | token | secret | api[_-]?key | credentials? ) )
            (["']? \s* [:=] \s*) (?: "[^"]*" | '[^']*' | [^\s"',;)}\]]+ )"""
        ),
        rf"\1\2{MASK}",
    ),
    (re.compile(r"\b(?=[A-Za-z0-9+=]*\d)(?=[A-Za-z0-9+=]*[A-Za-z])[A-Za-z0-9+=]{32,}"), MASK),
)


def failure_text(error: BaseException, mask: Callable[[str], str] = str) -> str:
    """Return a failure as one line of text; ``mask`` replaces the contents of Secrets."""
    error = _cause_in_group(error)
    text = without_credentials(mask(text_of(error)))
    for pattern, masked in _SUSPECT:
        text = pattern.sub(masked, text)
    text = " ".join(without_quoted_values(text).split())
    return cut(f"{type(error).__name__}: {text}" if text else type(error).__name__)


def cut(text: str) -> str:
    """Return a text with at most `LIMIT` characters."""
    return text if len(text) <= LIMIT else text[: LIMIT - 1] + "…"


def _cause_in_group(error: BaseException) -> BaseException:
    """Return the first exception of a group: the text of the group only has their number."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
