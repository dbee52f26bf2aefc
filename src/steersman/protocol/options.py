"""The options of every verb: frozen, keyword-only, validated on construction as the API server would.

Each builds its own query string once, so that reusing an options value costs nothing.
"""

from datetime import datetime
from functools import cached_property
from typing import Literal
from urllib.parse import quote

from msgspec import Struct

from steersman.objects.codec import encode_json
from steersman.objects.selectors import FieldSelector, LabelSelector
from steersman.objects.times import format_time

FieldValidation = Literal["Ignore", "Warn", "Strict"]
PropagationPolicy = Literal["Orphan", "Background", "Foreground"]
VersionMatch = Literal["NotOlderThan", "Exact"]

#: The API server refuses longer names of field managers.
MAX_FIELD_MANAGER = 128

_Value = str | int | bool | None


def _query(pairs: tuple[tuple[str, _Value], ...]) -> str:
    """Return the options as the end of a request target; ``None`` and the empty text are left out."""
    parts = [f"{name}={_text(value)}" for name, value in pairs if value is not None and value != ""]
    return "?" + "&".join(parts) if parts else ""


def _text(value: str | int | bool) -> str:
    if isinstance(value, str):
        return quote(value, safe="")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _refuse(wrong: bool, why: str) -> None:
    if wrong:
        raise ValueError(why)


def _check_seconds(name: str, value: int | None) -> None:
    _refuse(value is not None and value < 0, f"{name} must not be negative, got {value}")


def _check_selectors(labels: str, fields: str) -> None:
    """Reject selectors that do not parse, before a server has to."""
    if labels:
        LabelSelector.parse(labels)
    if fields:
        FieldSelector.parse(fields)


class GetOptions(Struct, frozen=True, kw_only=True, dict=True):
    """How one object is read."""

    #: "" reads the newest state, "0" any state that the server has at hand, another version one not older than it.
    resource_version: str = ""

    @cached_property
    def query(self) -> str:
        """The end of a request target."""
        return _query((("resourceVersion", self.resource_version),))


class ListOptions(Struct, frozen=True, kw_only=True, dict=True):
    """How a list is read."""

    label_selector: str = ""
    field_selector: str = ""
    #: Objects a page; 0 asks for all at once.
    limit: int = 0
    #: The token of the page before.
    continue_: str = ""
    resource_version: str = ""
    resource_version_match: VersionMatch | None = None
    timeout_seconds: int | None = None

    def __post_init__(self) -> None:
        match, version = self.resource_version_match, self.resource_version
        _refuse(self.limit < 0, f"limit must not be negative, got {self.limit}")
        _check_seconds("timeout_seconds", self.timeout_seconds)
        _refuse(match is not None and not version, "resource_version_match needs a resource_version")
        _refuse(match is not None and self.continue_ != "", "resource_version_match cannot go with a continue token")
        _refuse(match == "Exact" and version == "0", 'resource_version "0" has no exact match')
        _refuse(
            self.continue_ != "" and version not in ("", "0"),
            "a continue token carries its own resource version: leave out resource_version",
        )
        _check_selectors(self.label_selector, self.field_selector)

    @cached_property
    def query(self) -> str:
        """The end of a request target."""
        return _query(
            (
                ("labelSelector", self.label_selector),
                ("fieldSelector", self.field_selector),
                ("limit", self.limit or None),
                ("continue", self.continue_),
                ("resourceVersion", self.resource_version),
                ("resourceVersionMatch", self.resource_version_match),
                ("timeoutSeconds", self.timeout_seconds),
            )
        )


class WatchOptions(Struct, frozen=True, kw_only=True, dict=True):
    """How a watch is opened."""

    label_selector: str = ""
    field_selector: str = ""
    resource_version: str = ""
    #: Begin with the present state and end it with an annotated bookmark (WatchList).
    send_initial_events: bool = False
    allow_bookmarks: bool = True
    timeout_seconds: int | None = None

    def __post_init__(self) -> None:
        _check_seconds("timeout_seconds", self.timeout_seconds)
        _refuse(
            self.send_initial_events and not self.allow_bookmarks,
            "send_initial_events needs bookmarks: one of them ends the initial events",
        )
        _check_selectors(self.label_selector, self.field_selector)

    @cached_property
    def query(self) -> str:
        """The end of a request target."""
        initial = self.send_initial_events or None
        return _query(
            (
                ("watch", True),
                ("labelSelector", self.label_selector),
                ("fieldSelector", self.field_selector),
                ("allowWatchBookmarks", self.allow_bookmarks or None),
                ("resourceVersion", self.resource_version),
                ("sendInitialEvents", initial),
                # The server takes no other match here, and demands this one.
                ("resourceVersionMatch", "NotOlderThan" if initial else None),
                ("timeoutSeconds", self.timeout_seconds),
            )
        )


def _check_writing(manager: str, validation: FieldValidation | None) -> None:
    _refuse(
        len(manager) > MAX_FIELD_MANAGER or not manager.isprintable(),
        f"a field manager has at most {MAX_FIELD_MANAGER} printable characters, got {manager!r}",
    )
    _refuse(
        validation not in (None, "Ignore", "Warn", "Strict"),
        f"field_validation is Ignore, Warn or Strict, got {validation!r}",
    )


def _write_pairs(options: "WriteOptions | ApplyOptions") -> tuple[tuple[str, _Value], ...]:
    return (
        ("fieldManager", options.field_manager),
        ("fieldValidation", options.field_validation),
        ("dryRun", "All" if options.dry_run else None),
    )


class WriteOptions(Struct, frozen=True, kw_only=True, dict=True):
    """How an object is created, replaced or patched."""

    #: The owner of the fields that are set; the server uses the first word of the user agent if it is empty.
    field_manager: str = ""
    #: What the server does about unknown fields; it warns by default.
    field_validation: FieldValidation | None = None
    dry_run: bool = False

    def __post_init__(self) -> None:
        _check_writing(self.field_manager, self.field_validation)

    @cached_property
    def query(self) -> str:
        """The end of a request target."""
        return _query(_write_pairs(self))


class ApplyOptions(Struct, frozen=True, kw_only=True, dict=True):
    """How an object is applied by the server."""

    field_manager: str
    #: Take over fields that other managers own, instead of a conflict.
    force: bool = False
    field_validation: FieldValidation | None = None
    dry_run: bool = False

    def __post_init__(self) -> None:
        _refuse(not self.field_manager, "applying needs a field manager")
        _check_writing(self.field_manager, self.field_validation)

    @cached_property
    def query(self) -> str:
        """The end of a request target."""
        return _query((*_write_pairs(self), ("force", self.force or None)))


class Preconditions(Struct, frozen=True, kw_only=True):
    """What must hold of an object for it to be deleted; otherwise the answer is ``Conflict``."""

    uid: str = ""
    resource_version: str = ""


class DeleteOptions(Struct, frozen=True, kw_only=True, dict=True):
    """How objects are deleted. They travel in the body."""

    #: How dependents of the object are deleted; default: that of the kind.
    propagation_policy: PropagationPolicy | None = None
    preconditions: Preconditions = Preconditions()
    #: Seconds that the object gets to end by itself; 0 is now.
    grace_period_seconds: int | None = None
    dry_run: bool = False

    def __post_init__(self) -> None:
        _check_seconds("grace_period_seconds", self.grace_period_seconds)
        _refuse(
            self.propagation_policy not in (None, "Orphan", "Background", "Foreground"),
            f"propagation_policy is Orphan, Background or Foreground, got {self.propagation_policy!r}",
        )

    @cached_property
    def body(self) -> bytes:
        """The options as the body of a request; empty if none is set."""
        needs = {"uid": self.preconditions.uid, "resourceVersion": self.preconditions.resource_version}
        members = {
            "propagationPolicy": self.propagation_policy,
            "preconditions": {name: value for name, value in needs.items() if value} or None,
            "gracePeriodSeconds": self.grace_period_seconds,
            "dryRun": ["All"] if self.dry_run else None,
        }
        sent = {name: value for name, value in members.items() if value is not None}
        return encode_json(sent) if sent else b""


class LogOptions(Struct, frozen=True, kw_only=True, dict=True):
    """Which part of a container's log is read."""

    #: May be left out when the pod has one container.
    container: str = ""
    follow: bool = False
    #: The log of the container before its last restart.
    previous: bool = False
    since_seconds: int | None = None
    since_time: datetime | None = None
    tail_lines: int | None = None
    limit_bytes: int | None = None
    timestamps: bool = False

    def __post_init__(self) -> None:
        _refuse(
            self.since_seconds is not None and self.since_time is not None,
            "since_seconds and since_time exclude each other",
        )
        for name, least in (("since_seconds", 1), ("tail_lines", 0), ("limit_bytes", 1)):
            value = getattr(self, name)
            _refuse(value is not None and value < least, f"{name} must be at least {least}, got {value}")

    @cached_property
    def query(self) -> str:
        """The end of a request target."""
        return _query(
            (
                ("container", self.container),
                ("follow", self.follow or None),
                ("previous", self.previous or None),
                ("sinceSeconds", self.since_seconds),
                ("sinceTime", None if self.since_time is None else format_time(self.since_time)),
                ("tailLines", self.tail_lines),
                ("limitBytes", self.limit_bytes),
                ("timestamps", self.timestamps or None),
            )
        )


class ExecOptions(Struct, frozen=True, kw_only=True, dict=True):
    """A command to run inside a container, without a terminal."""

    command: tuple[str, ...]
    #: May be left out when the pod has one container.
    container: str = ""
    stdin: bool = False

    def __post_init__(self) -> None:
        _refuse(not self.command, "a command must be named")

    @cached_property
    def query(self) -> str:
        """The end of a request target."""
        pairs: tuple[tuple[str, _Value], ...] = (
            ("container", self.container),
            ("stdin", self.stdin or None),
            ("stdout", True),
            ("stderr", True),
        )
        words = "".join(f"&command={quote(word, safe='')}" for word in self.command)
        return _query(pairs) + words
