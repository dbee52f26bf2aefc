"""The options of a request, from its parameters; errors are worded as Kubernetes' are.

Each verb has its own options; `WriteOptions` serve create, update and patch, which differ only in the name under which
their errors are reported.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from steersman.apiserver.messages.info import Query
from steersman.apiserver.resources.metadata import MANAGER_LIMIT, unprintable_errors
from steersman.apiserver.status import Refusal, bad_request, internal_error, invalid
from steersman.golang.text import quoted
from steersman.json_types import JsonObject
from steersman.objects.times import Duration
from steersman.validation.field_errors import FieldError, forbidden, not_supported, required, too_long
from steersman.validation.field_errors import invalid as invalid_field

_META = "meta.k8s.io"
FIELD_VALIDATION = ("", "Ignore", "Strict", "Warn")
POLICIES = ("Foreground", "Background", "Orphan", "nil")


def refuse_options(kind: str, errors: Sequence[FieldError]) -> Refusal:
    """Return the rejection of invalid options, in the form of an invalid object without a name."""
    return invalid(kind, _META, "", errors)


def read_integer(query: Query, name: str) -> int | None:
    """Read a number; reject anything else in Go's words."""
    text = query.text(name)
    if not text:
        return None
    if not re.fullmatch(r"[+-]?\d{1,18}", text):
        raise bad_request(f"strconv.ParseInt: parsing {quoted(text)}: invalid syntax")
    return int(text)


def parse_version(text: str) -> int:
    """Parse a resource version; raise ``ValueError`` in Go's words."""
    if not re.fullmatch(r"\d{1,19}", text):
        raise ValueError(
            f"resourceVersion: Invalid value: {quoted(text)}: strconv.ParseUint: parsing {quoted(text)}: invalid syntax"
        )
    return int(text)


def _dry_run_errors(values: Sequence[str]) -> list[FieldError]:
    return [not_supported("dryRun", list(values), ["All"])] if any(value != "All" for value in values) else []


def _manager_errors(manager: str) -> list[FieldError]:
    errors = []
    if len(manager.encode()) > MANAGER_LIMIT:
        errors.append(too_long("fieldManager", MANAGER_LIMIT))
    errors += unprintable_errors(manager, "fieldManager")
    return errors


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options of create, update and patch."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = "Warn"
    force: bool = False


_DEFAULT_WRITE = WriteOptions()


def write_options(query: Query, kind: str, *, applying: bool | None = None) -> WriteOptions:
    """Read the options of a write; ``kind`` is the name under which they are refused.

    ``applying`` is set for patches: an apply needs a manager and may be forced, other patches may not.
    """
    if not query.values and not applying:
        return _DEFAULT_WRITE
    dry_run = query.values.get("dryRun", [])
    validation = query.text("fieldValidation")
    manager = query.text("fieldManager")
    errors = _apply_errors(query, manager, applying=applying) if applying is not None else []
    errors += _dry_run_errors(dry_run)
    errors += _manager_errors(manager)
    if validation not in FIELD_VALIDATION:
        errors.append(not_supported("fieldValidation", validation, FIELD_VALIDATION))
    if errors:
        raise refuse_options(kind, errors)
    return WriteOptions(bool(dry_run), manager, validation or "Warn", query.flag("force"))


def _apply_errors(query: Query, manager: str, *, applying: bool) -> list[FieldError]:
    if applying:
        return [] if manager else [required("fieldManager", "is required for apply patch")]
    if "force" in query:
        return [forbidden("force", "may not be specified for non-apply patch")]
    return []


@dataclass(frozen=True, slots=True)
class ListOptions:
    """Options of list, watch and delete-collection."""

    label_selector: str = ""
    field_selector: str = ""
    limit: int = 0
    continue_token: str = ""
    resource_version: str = ""
    match: str = ""
    watch: bool = False
    bookmarks: bool = False
    send_initial: bool | None = None
    timeout: int | None = None


_DEFAULT_LIST = ListOptions()
_WATCHED = ListOptions(watch=True)


def list_options(query: Query, *, watch: bool = False) -> ListOptions:
    """Read and check the options of a list or a watch."""
    if not query.values:
        return _WATCHED if watch else _DEFAULT_LIST
    options = ListOptions(
        label_selector=query.text("labelSelector"),
        field_selector=query.text("fieldSelector"),
        limit=max(read_integer(query, "limit") or 0, 0),
        continue_token=query.text("continue"),
        resource_version=query.text("resourceVersion"),
        match=query.text("resourceVersionMatch"),
        watch=watch or query.flag("watch"),
        bookmarks=query.flag("allowWatchBookmarks"),
        send_initial=query.flag("sendInitialEvents") if "sendInitialEvents" in query else None,
        timeout=read_integer(query, "timeoutSeconds"),
    )
    if errors := (_watch_errors(options) if options.watch else _list_errors(options)):
        raise refuse_options("ListOptions", errors)
    return options


def _list_errors(options: ListOptions) -> list[FieldError]:
    errors = []
    field = "resourceVersionMatch"
    if options.match:
        if not options.resource_version:
            errors.append(forbidden(field, "resourceVersionMatch is forbidden unless resourceVersion is provided"))
        if options.continue_token:
            errors.append(forbidden(field, "resourceVersionMatch is forbidden when continue is provided"))
        if options.match not in ("Exact", "NotOlderThan"):
            errors.append(not_supported(field, options.match, ["Exact", "NotOlderThan", ""]))
        if options.match == "Exact" and options.resource_version == "0":
            errors.append(forbidden(field, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if options.send_initial is not None:
        errors.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return errors


def _watch_errors(options: ListOptions) -> list[FieldError]:
    errors = []
    field = "resourceVersionMatch"
    if options.match and options.send_initial is None:
        text = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        errors.append(forbidden(field, text))
    if options.send_initial is not None and options.match != "NotOlderThan":
        text = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        errors.append(forbidden(field, text))
    if options.match not in ("", "NotOlderThan"):
        errors.append(not_supported(field, options.match, ["NotOlderThan"]))
    if options.continue_token:
        errors.append(forbidden(field, "resourceVersionMatch is forbidden when continue is provided"))
    return errors


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """Options of a delete, from the body or else from the parameters."""

    dry_run: bool = False
    grace_seconds: int | None = None
    policy: str = ""
    #: The old spelling of the policy: true is Orphan, false Background.
    orphan: bool | None = None
    uid: str = ""
    resource_version: str = ""


_DELETE_FIELDS: dict[str, tuple[type, str]] = {
    "gracePeriodSeconds": (int, "int64"),
    "orphanDependents": (bool, "bool"),
    "propagationPolicy": (str, "v1.DeletionPropagation"),
    "preconditions": (dict, "v1.Preconditions"),
    "dryRun": (list, "[]string"),
}
_WORDS = {str: "string", bool: "bool", int: "number", float: "number", list: "array", dict: "object"}


def delete_options(query: Query, body: JsonObject | None) -> DeleteOptions:
    """Read the options of a delete; a body takes precedence over the parameters."""
    fields = _from_query(query) if body is None else _from_body(body)
    policy = fields.get("propagationPolicy")
    orphan = fields.get("orphanDependents")
    dry_run = fields.get("dryRun") or []
    errors = []
    if policy is not None and policy not in POLICIES[:3]:
        errors.append(not_supported("propagationPolicy", policy, POLICIES))
    if policy is not None and orphan is not None:
        text = "orphanDependents and deletionPropagation cannot be both set"
        errors.insert(0, invalid_field("propagationPolicy", policy, text))
    errors += _dry_run_errors(dry_run)
    if errors:
        raise refuse_options("DeleteOptions", errors)
    conditions = fields.get("preconditions") or {}
    return DeleteOptions(
        dry_run=bool(dry_run),
        grace_seconds=fields.get("gracePeriodSeconds"),
        policy=policy or "",
        orphan=orphan,
        uid=conditions.get("uid") or "",
        resource_version=conditions.get("resourceVersion") or "",
    )


def _from_query(query: Query) -> JsonObject:
    fields: JsonObject = {}
    if not query.values:
        return fields
    if (grace := read_integer(query, "gracePeriodSeconds")) is not None:
        fields["gracePeriodSeconds"] = grace
    if "orphanDependents" in query:
        fields["orphanDependents"] = query.flag("orphanDependents")
    if "propagationPolicy" in query:
        fields["propagationPolicy"] = query.text("propagationPolicy")
    fields["dryRun"] = query.values.get("dryRun", [])
    return fields


def _from_body(body: JsonObject) -> JsonObject:
    for name, (wanted, go_name) in _DELETE_FIELDS.items():
        value = body.get(name)
        if value is not None and value.__class__ is not wanted:
            word = _WORDS[value.__class__]
            raise bad_request(
                f'DeleteOptions in version "v1" cannot be handled as a DeleteOptions: '
                f"json: cannot unmarshal {word} into Go struct field DeleteOptions.{name} of type {go_name}"
            )
    return body


def check_timeout(query: Query) -> None:
    """Reject a time limit that is not a duration; a valid one is ignored, since responses do not wait."""
    text = query.text("timeout")
    if text:
        try:
            Duration.parse(text)
        except ValueError:
            why = f'invalid timeout specified in the request URL - time: invalid duration "{text}"'
            raise bad_request(why) from None


def version_or_500(text: str) -> int:
    """Read the version of a get or a watch; an invalid one is a 500, since Kubernetes does not expect it there."""
    try:
        return parse_version(text)
    except ValueError as error:
        raise internal_error(str(error)) from None


def version_or_400(text: str) -> int:
    """Read the version of a list; an invalid one is a 400."""
    try:
        return parse_version(text)
    except ValueError as error:
        raise bad_request(f"invalid resource version: {error}") from None
