"""Names of generated code: from what an API calls things to readable Python identifiers.

Everything here is total: any text, however hostile, becomes a plain ASCII identifier.
"""

import keyword
import re
from collections.abc import Iterable

from steersman.objects.model import wire_name
from steersman.objects.resource import KubeObject

#: In this order: IPv4/IPv6, an acronym before a version (APIV3), a plural acronym (IPs), an acronym, any other word.
_WORD = re.compile(r"IPv[46]|[A-Z]+(?=V[0-9])|[A-Z]{2,}s(?![a-z])|[A-Z]+[0-9]*(?![a-z])|[A-Z]?[a-z0-9]+")

#: What annotations and defaults of the generated code call; a field of that name would hide it.
_USED_IN_CLASS_BODIES = frozenset(
    {"absent", "bool", "bytes", "datetime", "dict", "field", "float", "int", "list", "str"}
)

#: What every kind has already; a field of that name would hide it.
_MEMBERS_OF_KINDS = frozenset(name for name in dir(KubeObject) if not name.startswith("_"))

#: Names that generated modules import or may refer to; no generated class may have such a name.
RESERVED_CLASS_NAMES = frozenset(
    {
        "Any",
        "ApiResource",
        "Condition",
        "GroupVersionKind",
        "IntOrString",
        "KubeObject",
        "MicroTime",
        "Model",
        "ObjectMeta",
        "Quantity",
        *keyword.kwlist,
    }
)


def words(name: str) -> list[str]:
    """Split a name of any style into its words: ``clusterIPs`` into cluster, IPs."""
    return _WORD.findall(name)


def _unhidden(name: str, *, of_kind: bool) -> str:
    hides = keyword.iskeyword(name) or name in _USED_IN_CLASS_BODIES or (of_kind and name in _MEMBERS_OF_KINDS)
    return f"{name}_" if hides else name


def field_name(wire: str, *, of_kind: bool = False) -> str:
    """Return the Python name of a field: ``clusterIP`` → ``cluster_ip``, ``from`` → ``from_``, ``$ref`` → ``ref``."""
    name = "_".join(word.lower() for word in words(wire))
    if not name[:1].isalpha():
        name = f"field_{name}".rstrip("_") if name else "unnamed"
    return _unhidden(name, of_kind=of_kind)


def field_names(wires: Iterable[str], *, of_kind: bool = False) -> dict[str, str]:
    """Return a name for each field of one class; of two equal names the later gets a number."""
    used: set[str] = set()
    return {wire: unique(field_name(wire, of_kind=of_kind), used, "_") for wire in wires}


def unique(name: str, used: set[str], joint: str = "") -> str:
    """Return an unused name, with a number if necessary, and mark it as used."""
    chosen, count = name, 1
    while chosen in used:
        count += 1
        chosen = f"{name.rstrip('_')}{joint}{count}"
    used.add(chosen)
    return chosen


def needs_wire_name(python_name: str, wire: str) -> bool:
    """Return whether the usual conversion would send a field under another name."""
    return wire_name(python_name) != wire


def class_name(text: str) -> str:
    """Return the CamelCase name of a class; a proper name stays unchanged (``IPBlock``)."""
    if re.fullmatch(r"[A-Z][A-Za-z0-9]*", text):
        name = text
    else:
        name = "".join(word[:1].upper() + word[1:] for word in words(text))
    return name if name[:1].isalpha() else f"Part{name}"


def singular(plural: str) -> str:
    """Return the name of one of several, for the class of a list's items: ``policies`` → ``policy``."""
    if plural.endswith("ies") and len(plural) > len("ties"):
        return f"{plural[:-3]}y"
    if plural.endswith(("sses", "xes", "ches", "shes")):
        return plural[:-2]
    if plural.endswith("s") and not plural.endswith(("ss", "us", "is")):
        return plural[:-1]
    return plural


def plural(kind: str) -> str:
    """Return the lower-case plural of a kind as API machinery guesses it."""
    name = kind.lower()
    if name.endswith("s"):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


def module_name(group: str, version: str) -> str:
    """Return the module of a group-version: ``rbac.authorization.k8s.io``, ``v1`` → ``rbac_v1``."""
    head = group.partition(".")[0] or "core"
    name = "_".join(word.lower() for word in words(f"{head}_{version}"))
    return name if name[:1].isalpha() else f"group_{name}".rstrip("_")
