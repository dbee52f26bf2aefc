"""``jsonpatch.escapeKey``: a key as a part of a JSON pointer."""

from steersman.cel.checking.overloads import function
from steersman.cel.types import STRING


def _escape_key(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


OVERLOADS = [function("jsonpatch.escapeKey", "string_jsonpatch_escapeKey_string", (STRING,), STRING, _escape_key)]
