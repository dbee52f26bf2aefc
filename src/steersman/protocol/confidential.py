"""Resources with confidential content: it is never recorded, and no message about them quotes it.

API servers quote what they reject, even the whole object of a failed patch, and their messages end up in logs.
"""

import re
from typing import Final

from msgspec.structs import replace

from steersman.errors import ApiError

#: Resources, and subresources behind a slash, whose bodies carry secrets.
_RESOURCES: Final = frozenset({"secrets", "tokenreviews", "certificatesigningrequests", "token"})
#: Headers that carry credentials.
CREDENTIAL_HEADERS: Final = frozenset({"authorization", "proxy-authorization", "cookie", "sec-websocket-protocol"})
#: A field, and the value that a server quotes for it as Go does.
_QUOTED: Final = re.compile(r'(?:([\w.\[\]/-]+): )?(\w+ value): "(?:\\.|[^"\\])*"')
#: Fields without secrets: the reader of the message needs their values.
_PLAIN: Final = ("metadata.", "type")


def is_confidential(target: str) -> bool:
    """Return whether the bodies of a request to a target, and of its answer, may carry secrets."""
    path = target.partition("?")[0]
    return not _RESOURCES.isdisjoint(path.split("/"))


def is_confidential_resource(plural: str) -> bool:
    """Return whether the objects of a resource carry secrets."""
    return plural in _RESOURCES


def without_values(error: ApiError) -> ApiError:
    """Return an error without the values that the server quotes, except those of plain fields."""
    return type(error)(
        without_quoted_values(error.message),
        code=error.code,
        reason=error.reason,
        group=error.group,
        kind=error.kind,
        name=error.name,
        causes=[
            cause if cause.field.startswith(_PLAIN) else replace(cause, message=without_quoted_values(cause.message))
            for cause in error.causes
        ],
        retry_after=error.retry_after,
    )


def without_quoted_values(text: str) -> str:
    """Return a text without the values that API servers quote, except those of plain fields."""
    return _QUOTED.sub(_replaced, text)


def _replaced(found: re.Match[str]) -> str:
    field, what = found[1], found[2]
    if field is not None and field.startswith(_PLAIN):
        return found[0]
    return f"{f'{field}: ' if field else ''}{what}: <secret>"
