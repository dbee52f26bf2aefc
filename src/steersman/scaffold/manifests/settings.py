"""`[tool.steersman]`: how an operator is deployed, read from ``pyproject.toml`` and validated key by key.

Keys are in snake case; the generated fields have the names of Kubernetes. Each error names the key, the value and what
to write instead. An unknown key is an error: a typo must not deploy something else than intended.
"""

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from steersman.errors import ConfigError
from steersman.json_types import JsonObject
from steersman.objects.quantity import Quantity
from steersman.validation.names import label_value_faults, qualified_name_faults, subdomain_faults

#: Keys about the project rather than its deployment: read elsewhere.
_OF_PROJECT: Final = ("name", "domain", "operator", "images")
#: Options of ``steer run`` that follow from other settings, with the key or the reason.
_OWN_OPTIONS: Final = {
    "--leader-elect": "it is always set",
    "--shards": "declare it: Operator(name, shards=N); the roles follow from that",
    "--metrics-host": "probes need it as it is",
    "--metrics-port": "probes need it as it is",
    "--namespace": "set watch",
    "-n": "set watch",
    "--webhook-service": "it follows from the operator's webhooks",
    "--webhook-host": "it follows from the operator's webhooks",
    "--webhook-port": "it follows from the operator's webhooks",
    "--webhook-secret": "set webhook_secret",
}
#: Sources of a volume that the restricted pod security standard admits.
_ADMITTED: Final = (
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
)
_ENV_NAME: Final = re.compile(r"[ -<>-~]+")
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class Volume:
    """A volume that is mounted into the pods."""

    #: The source, as Kubernetes writes it: ``{"secret": {"secretName": "a"}}``.
    source: JsonObject
    read_only: bool = False


def parsed(settings: Mapping[str, object]) -> JsonObject:
    """Return the settings of a deployment by their keys, each as the field of a `Shape` has it."""
    found = {}
    for key, value in settings.items():
        if key in _READERS:
            found[key] = _READERS[key](value, key)
        elif key not in _OF_PROJECT:
            raise _wrong(key, f"is not a setting{_meant(key, (*_READERS, *_OF_PROJECT))}")
    return found


def _wrong(place: str, what: str) -> ConfigError:
    return ConfigError(f"pyproject.toml, [tool.steersman]: {place} {what}")


def _meant(key: str, known: tuple[str, ...]) -> str:
    """Return a hint at the key that was probably intended: a Kubernetes name in snake case, or a similar one."""
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).lower()
    close = [snake] if snake in known else difflib.get_close_matches(key, known, n=1)
    return f": write {close[0]}" if close else f": there are {', '.join(known)}"


# Values.


def _text(value: object, place: str) -> str:
    if not isinstance(value, str) or not value:
        raise _wrong(place, f"must be a text, not {value!r}")
    return value


def _whole(value: object, place: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _wrong(place, f"must be a whole number, not {value!r}")
    return value


def _flag(value: object, place: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong(place, f"must be true or false, not {value!r}")
    return value


def _items(value: object, place: str) -> Iterator[tuple[str, object]]:
    """Yield the items of an array, each with its place."""
    if not isinstance(value, list):
        raise _wrong(place, f"must be an array, not {value!r}")
    return ((f"{place}[{number}]", item) for number, item in enumerate(value))


def _members(value: object, place: str) -> Iterator[tuple[str, str, object]]:
    """Yield the members of a table, each with its place."""
    if not isinstance(value, dict):
        raise _wrong(place, f"must be a table, not {value!r}")
    return ((key, f"{place}.{key}", inner) for key, inner in value.items())


def _table(value: object, place: str, readers: "Mapping[str, _Reader]") -> JsonObject:
    """Read a table with a fixed set of keys."""
    found = {}
    for key, inner_place, inner in _members(value, place):
        if key not in readers:
            raise _wrong(inner_place, f"is not known{_meant(key, tuple(readers))}")
        found[key] = readers[key](inner, inner_place)
    return found


def _name(value: object, place: str) -> str:
    """Read the name of an object."""
    if faults := subdomain_faults(_text(value, place)):
        raise _wrong(place, f"is {value!r}, which is not the name of an object: {faults[0]}")
    return str(value)


def _one_of(table: JsonObject, place: str, names: tuple[str, ...]) -> str:
    """Return which one of some members a table has."""
    given = [name for name in names if name in table]
    if len(given) != 1:
        raise _wrong(place, f"must have one of {', '.join(names)}, and has {' and '.join(given) or 'none'}")
    return given[0]


# Settings.


def _texts(value: object, place: str) -> tuple[str, ...]:
    return tuple(_text(item, inner) for inner, item in _items(value, place))


def _arguments(value: object, place: str) -> tuple[str, ...]:
    for inner, item in _items(value, place):
        option = _text(item, inner).partition("=")[0]
        if option in _OWN_OPTIONS:
            raise _wrong(inner, f"is {item!r}, which cannot be set: {_OWN_OPTIONS[option]}")
    return _texts(value, place)


def _pull_secrets(value: object, place: str) -> tuple[JsonObject, ...]:
    return tuple({"name": _name(item, inner)} for inner, item in _items(value, place))


def _environment(value: object, place: str) -> tuple[JsonObject, ...]:
    made = []
    for name, inner, given in _members(value, place):
        if not _ENV_NAME.fullmatch(name):
            raise _wrong(inner, f"is {name!r}, which is not the name of a variable: printable ASCII without '='")
        made.append({"name": name, **_variable(given, inner)})
    return tuple(made)


def _variable(value: object, place: str) -> JsonObject:
    if isinstance(value, bool):
        return {"value": "true" if value else "false"}
    if isinstance(value, str | int | float):
        return {"value": str(value)}
    readers = {"secret": _name, "config_map": _name, "field": _text, "key": _text, "optional": _flag}
    table = _table(value, place, readers)
    source = _one_of(table, place, ("secret", "config_map", "field"))
    if source == "field":
        if set(table) != {"field"}:
            raise _wrong(place, "names a field of the pod, which has no key and is never optional")
        return {"valueFrom": {"fieldRef": {"fieldPath": table["field"]}}}
    if "key" not in table:
        raise _wrong(place, f'names a {source} without the key in it: add key = "…"')
    reference = {"name": table[source], "key": table["key"], **_optional(table)}
    return {"valueFrom": {"secretKeyRef" if source == "secret" else "configMapKeyRef": reference}}


def _optional(table: JsonObject) -> JsonObject:
    return {"optional": table["optional"]} if "optional" in table else {}


def _environment_from(value: object, place: str) -> tuple[JsonObject, ...]:
    readers = {"secret": _name, "config_map": _name, "prefix": _text, "optional": _flag}
    made = []
    for inner, item in _items(value, place):
        table = _table(item, inner, readers)
        source = _one_of(table, inner, ("secret", "config_map"))
        reference = {"name": table[source], **_optional(table)}
        prefix = {"prefix": table["prefix"]} if "prefix" in table else {}
        made.append({**prefix, "secretRef" if source == "secret" else "configMapRef": reference})
    return tuple(made)


def _resources(value: object, place: str) -> JsonObject:
    return _table(value, place, {"requests": _amounts, "limits": _amounts})


def _amounts(value: object, place: str) -> dict[str, str]:
    made = {}
    for name, inner, amount in _members(value, place):
        if faults := qualified_name_faults(name):
            raise _wrong(inner, f"is not the name of a resource: {faults[0]}")
        try:
            is_negative = Quantity(amount if isinstance(amount, int) else _text(amount, inner)).value < 0
        except ValueError as error:
            raise _wrong(inner, f"is {amount!r}, which is not a quantity such as 500m or 256Mi: {error}") from None
        if is_negative:
            raise _wrong(inner, f"is {amount!r}: it cannot be negative")
        made[name] = str(amount)
    return made


def _labels(value: object, place: str) -> dict[str, str]:
    made = {}
    for key, inner, text in _members(value, place):
        if not isinstance(text, str):
            raise _wrong(inner, f"must be a text, not {text!r}")
        if faults := [*qualified_name_faults(key), *label_value_faults(text)]:
            raise _wrong(inner, f"= {text!r} is not a label: {faults[0]}")
        made[key] = text
    return made


def _tolerations(value: object, place: str) -> tuple[JsonObject, ...]:
    readers = {"key": _text, "operator": _text, "value": _text, "effect": _text, "toleration_seconds": _whole}
    made = []
    for inner, item in _items(value, place):
        table = _table(item, inner, readers)
        _check_toleration(table, inner)
        seconds = table.pop("toleration_seconds", None)
        made.append(table | ({"tolerationSeconds": seconds} if seconds is not None else {}))
    return tuple(made)


def _check_toleration(table: JsonObject, place: str) -> None:
    operator = table.get("operator", "Equal")
    if operator not in ("Equal", "Exists"):
        raise _wrong(f"{place}.operator", f"is {operator!r}: write Equal or Exists")
    if operator == "Exists" and "value" in table:
        raise _wrong(f"{place}.value", "has no meaning with the operator Exists: leave it out")
    if operator == "Equal" and "key" not in table:
        raise _wrong(place, "has no key: only with the operator Exists does it tolerate every taint")
    if table.get("effect", _EFFECTS[0]) not in _EFFECTS:
        raise _wrong(f"{place}.effect", f"is {table['effect']!r}: write one of {', '.join(_EFFECTS)}")
    if "toleration_seconds" in table and table.get("effect") != "NoExecute":
        raise _wrong(f"{place}.toleration_seconds", "has a meaning only with the effect NoExecute")


def _volumes(value: object, place: str) -> dict[str, Volume]:
    made = {}
    for folder, inner, given in _members(value, place):
        if not folder.startswith("/") or ":" in folder or folder == "/":
            raise _wrong(inner, f"is {folder!r}, which is not a folder to mount at: it begins with / and has no colon")
        made[folder] = _volume({"claim": given} if isinstance(given, str) else given, inner)
    return made


def _volume(value: object, place: str) -> Volume:
    kinds: dict[str, _Reader] = {
        "claim": _name,
        "secret": _name,
        "config_map": _name,
        "empty_dir": _size,
        "source": _source,
    }
    table = _table(value, place, {**kinds, "read_only": _flag})
    kind = _one_of(table, place, tuple(kinds))
    read_only: bool = table.get("read_only", kind in ("secret", "config_map"))
    return Volume(_volume_source(kind, table[kind]), read_only)


def _volume_source(kind: str, given: Any) -> JsonObject:
    match kind:
        case "claim":
            return {"persistentVolumeClaim": {"claimName": given}}
        case "secret":
            return {"secret": {"secretName": given}}
        case "config_map":
            return {"configMap": {"name": given}}
        case "empty_dir":
            return {"emptyDir": {"sizeLimit": given}}
    source: JsonObject = given
    return source


def _size(value: object, place: str) -> str:
    return _amounts({"storage": value}, place)["storage"]


def _source(value: Any, place: str) -> JsonObject:
    """Read a source of a volume as Kubernetes writes it."""
    names = [key for key, _, _ in _members(value, place)]
    if len(names) != 1 or names[0] not in _ADMITTED:
        shown = ", ".join(names) or "nothing"
        raise _wrong(place, f"has {shown}: the restricted pod security standard admits one of {', '.join(_ADMITTED)}")
    found: JsonObject = value
    return found


_Reader = Callable[[Any, str], Any]
_READERS: Final[dict[str, _Reader]] = {
    "image": _text,
    "namespace": _text,
    "replicas": _whole,
    "watch": _texts,
    "webhook_secret": _name,
    "args": _arguments,
    "env": _environment,
    "env_from": _environment_from,
    "resources": _resources,
    "node_selector": _labels,
    "tolerations": _tolerations,
    "image_pull_secrets": _pull_secrets,
    "volumes": _volumes,
    "monitoring": _flag,
}
#: The keys of a deployment's settings.
SETTINGS: Final = tuple(_READERS)
