"""What the template of a project was when its files were written, so that later changes of it can be merged in.

The record is a file of the project, ``.steersman-template.json``, and belongs into version control. It has the texts
themselves: a later version of Steersman does not have the templates of an earlier one.
"""

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

from steersman.errors import ConfigError
from steersman.scaffold.three_way_merge import merge

RECORD: Final = ".steersman-template.json"


class Template(NamedTuple):
    """The files of a template, and the version of Steersman that it belongs to."""

    version: str
    files: Mapping[str, str]


def record_of(template: Template) -> str:
    """Return the content of the record."""
    files = {name: b64encode(zlib.compress(text.encode(), 9)).decode() for name, text in template.files.items()}
    return json.dumps({"steersman": template.version, "files": files}, indent=2) + "\n"


def read_record(text: str) -> Template:
    """Read a record; raise an error that says what to do if it cannot be used."""
    try:
        document = json.loads(text)
        files = {name: zlib.decompress(b64decode(data)).decode() for name, data in document["files"].items()}
        return Template(str(document["steersman"]), files)
    except (ValueError, KeyError, TypeError, AttributeError, zlib.error) as error:
        raise ConfigError(f"{RECORD} cannot be read ({error}): restore it from version control") from None


class Update(Enum):
    """What happens to a file."""

    ADDED = "added"
    CHANGED = "updated"
    MERGED = "merged"
    CONFLICT = "conflict"
    #: The user has deleted it.
    LEFT_OUT = "left out"
    #: The template adds a file that the user has made already.
    KEPT = "kept"


class UpdatedFile(NamedTuple):
    """The new text of a file; for those that are left as they are, the old one."""

    name: str
    update: Update
    text: str


def updated_files(base: Template, new: Template, present: Mapping[str, str | None]) -> list[UpdatedFile]:
    """Return the files that a new template changes, given those of the project; ``None`` stands for a missing file."""
    found = []
    for name, text in new.files.items():
        old, mine = base.files.get(name), present.get(name)
        if text in (old, mine):
            continue
        found.append(_updated(name, old, mine, text, new.version))
    return found


def _updated(name: str, old: str | None, mine: str | None, text: str, version: str) -> UpdatedFile:
    if mine is None:
        return UpdatedFile(name, Update.ADDED, text) if old is None else UpdatedFile(name, Update.LEFT_OUT, "")
    if old is None:
        return UpdatedFile(name, Update.KEPT, mine)
    if mine == old:
        return UpdatedFile(name, Update.CHANGED, text)
    merged = merge(old, mine, text, name=f"steersman {version}")
    return UpdatedFile(name, Update.CONFLICT if merged.conflicts else Update.MERGED, merged.text)
