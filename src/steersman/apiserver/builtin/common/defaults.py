"""Setting defaults."""

from steersman.json_types import JsonObject


def set_default(document: JsonObject, **values: object) -> None:
    """Set fields that are absent or null; the keywords are the names of the fields in JSON."""
    for name, value in values.items():
        if document.get(name) is None:
            document[name] = value


def join_first(document: JsonObject, single: str, several: str) -> None:
    """Make an older field equal to the first item of the list that replaced it; where they differ, the older counts."""
    first, values = document.get(single), document.get(several)
    if first and (not values or values[0] != first):
        document[several] = [first]
    elif values and not first:
        document[single] = values[0]
