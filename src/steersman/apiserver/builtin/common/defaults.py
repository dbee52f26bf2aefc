"""Setting defaults."""

from steersman.json_types import JsonObject


def set_default(document: JsonObject, **values: object) -> None:
    """Set fields that are absent or null; the keywords are the names of the fields in JSON."""
    for name, value in values.items():
        if document.get(name) is None:
            document[name] = value
