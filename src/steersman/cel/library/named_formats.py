"""Named formats: ``format.dns1123Label().validate(self)`` returns the errors of a string, if any."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from steersman.cel.checking.overloads import Overload, function, member
from steersman.cel.library.urls import UrlError, parse_request_uri
from steersman.cel.types import NAMED_FORMAT, STRING, list_of, optional_of
from steersman.cel.values.times import parse_date, parse_timestamp
from steersman.cel.values.values import NONE, Opaque, Optional, Present
from steersman.validation import names

_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")

Faults = Callable[[str], list[str]]


@dataclass(frozen=True, slots=True)
class NamedFormat(Opaque):
    """A format: its name, how to check a string, and how long its regular expression is for the cost."""

    name: str
    faults: Faults = field(compare=False)
    regex_size: int = field(compare=False)

    type_name: ClassVar[str] = "kubernetes.NamedFormat"


def _in_characters(check: Faults) -> Faults:
    return lambda text: [fault.replace(" bytes", " characters") for fault in check(text)]


_SHORTEST_MASKED = 2


def _prefix_of(check: Faults) -> Faults:
    """Return the check of a prefix of a generated name: a dash at the end is valid, because a suffix follows."""

    def run(text: str) -> list[str]:
        if len(text) >= _SHORTEST_MASKED and text.endswith("-"):
            text = text[:-2] + "a"
        return check(text)

    return run


def _uri(text: str) -> list[str]:
    try:
        parse_request_uri(text)
    except UrlError as error:
        return [str(error)]
    return []


def _holds(holds: Callable[[str], Any], complaint: str) -> Faults:
    return lambda text: [] if holds(text) else [complaint]


_LABEL = _in_characters(names.label_faults)
_SUBDOMAIN = _in_characters(names.subdomain_faults)
_DNS1035 = _in_characters(names.dns1035_faults)

FORMATS = {
    "dns1123Label": NamedFormat("DNS1123Label", _LABEL, 30),
    "dns1123Subdomain": NamedFormat("DNS1123Subdomain", _SUBDOMAIN, 60),
    "dns1035Label": NamedFormat("DNS1035Label", _DNS1035, 30),
    "qualifiedName": NamedFormat("QualifiedName", names.qualified_name_faults, 60),
    "dns1123LabelPrefix": NamedFormat("DNS1123LabelPrefix", _prefix_of(_LABEL), 30),
    "dns1123SubdomainPrefix": NamedFormat("DNS1123SubdomainPrefix", _prefix_of(_SUBDOMAIN), 60),
    "dns1035LabelPrefix": NamedFormat("DNS1035LabelPrefix", _prefix_of(_DNS1035), 30),
    "labelValue": NamedFormat("LabelValue", names.label_value_faults, 40),
    "uri": NamedFormat("URI", _uri, 1103),
    "uuid": NamedFormat("uuid", _holds(_UUID.fullmatch, "does not match the UUID format"), 79),
    "byte": NamedFormat("byte", _holds(_BASE64.fullmatch, "invalid base64"), 84),
    "date": NamedFormat("date", _holds(parse_date, "invalid date"), 136),
    "datetime": NamedFormat("datetime", _holds(parse_timestamp, "invalid datetime"), 136),
}


def _validate(chosen: NamedFormat, text: str) -> Optional:
    faults = chosen.faults(text)
    return Present(faults) if faults else NONE


def _named(name: str) -> Optional:
    return Present(FORMATS[name]) if name in FORMATS else NONE


def _constant(chosen: NamedFormat) -> Callable[[], NamedFormat]:
    return lambda: chosen


OVERLOADS: list[Overload] = [
    member("validate", "format-validate", (NAMED_FORMAT, STRING), optional_of(list_of(STRING)), _validate),
    function("format.named", "format-named", (STRING,), optional_of(NAMED_FORMAT), _named),
    *(
        function(f"format.{name}", f"format.{name}", (), NAMED_FORMAT, _constant(chosen))
        for name, chosen in FORMATS.items()
    ),
]
