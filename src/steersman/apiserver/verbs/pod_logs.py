"""The options of a request for a pod's log; the log itself is read by the node that runs the pod."""

from steersman.apiserver.messages.info import Query
from steersman.apiserver.status import bad_request, invalid
from steersman.golang.text import quoted
from steersman.validation.field_errors import FieldError, forbidden
from steersman.validation.field_errors import invalid as invalid_field
from steersman.validation.formats import is_go_time

#: Parameter → its minimum, and the error about less.
_LEAST = {
    "tailLines": (0, "must be greater than or equal to 0"),
    "limitBytes": (1, "must be greater than 0"),
    "sinceSeconds": (1, "must be greater than 0"),
}
_LAYOUT = "2006-01-02T15:04:05Z07:00"


def check_log_options(query: Query, pod: str) -> None:
    """Reject invalid options of a request for a log."""
    errors: list[FieldError] = []
    if "sinceTime" in query and not is_go_time(query.text("sinceTime")):
        text = query.text("sinceTime")
        raise bad_request(f'parsing time {quoted(text)} as "{_LAYOUT}": cannot parse {quoted(text)} as "2006"')
    for name, (least, why) in _LEAST.items():
        if name in query and (number := _number(query.text(name))) < least:
            errors.append(invalid_field(name, number, why))
    if "sinceTime" in query and "sinceSeconds" in query:
        errors.append(forbidden("", "at most one of `sinceTime` or `sinceSeconds` may be specified"))
    if errors:
        raise invalid("PodLogOptions", "", pod, errors)


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise bad_request(f"strconv.ParseInt: parsing {quoted(text)}: invalid syntax") from None
