"""Impersonation: ``Impersonate-*`` headers, and who may send them.

There are two ways to be allowed to. The old one is the verb ``impersonate`` on the user, group, uid or extra value; it
allows everything that the other user may do. The newer one, *constrained* impersonation, names the kind of user
(``impersonate:user-info`` on the user) and what may be done as one (``impersonate-on:user-info:list`` on the resource).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote

from steersman.apiserver.access.authorization import (
    PRIVILEGED,
    Authorizer,
    forbidden_path,
    forbidden_resource,
    is_privileged,
)
from steersman.apiserver.access.service_account_tokens import service_account_user
from steersman.apiserver.messages.info import RequestInfo
from steersman.apiserver.resources.request_context import User
from steersman.apiserver.status import Refusal, bad_request
from steersman.validation.field_errors import invalid

_ACCOUNT = "system:serviceaccount:"
_NODE = "system:node:"
_EXTRA = "impersonate-extra-"
_AUTHENTICATION = "authentication.k8s.io"
_LEGACY = ""
#: How many users' last way of impersonating is remembered.
_REMEMBERED = 1024


@dataclass(frozen=True, slots=True)
class Wanted:
    """The user that a request impersonates."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def user(self) -> User:
        """Return the user with the groups that all users of their type have."""
        groups = self.groups
        if not groups and (account := _account(self.name)):
            groups = service_account_user(*account).groups[:-1]
        known = {"system:authenticated", "system:unauthenticated"}
        if self.name == "system:anonymous":
            groups = (*groups, *(() if known & set(groups) else ("system:unauthenticated",)))
        elif not known & set(groups):
            groups = (*groups, "system:authenticated")
        return User(self.name, groups, self.uid, self.extra)


@dataclass(frozen=True, slots=True)
class ImpersonatedAction:
    """What a request that impersonates asks for: a verb on a resource, or on a path."""

    verb: str
    path: str
    info: RequestInfo | None


def wants_impersonation(headers: dict[str, str]) -> bool:
    """Return whether a request has impersonation headers."""
    return "impersonate-" in " ".join(headers)


def wanted_user(headers: dict[str, str]) -> Wanted | None:
    """Return the user that a request asks to impersonate; ``None`` if its headers are empty."""
    extra: dict[str, list[str]] = {}
    for name, value in headers.items():
        if name.startswith(_EXTRA):
            key = unquote(name.removeprefix(_EXTRA)).lower()
            extra.setdefault(key, []).extend(value.split(", "))
    group = headers.get("impersonate-group", "")
    wanted = Wanted(
        headers.get("impersonate-user", ""),
        tuple(part for part in group.split(", ") if part) if group else (),
        headers.get("impersonate-uid", ""),
        tuple((key, tuple(values)) for key, values in extra.items()),
    )
    if wanted.name:
        return wanted
    if wanted.groups or wanted.uid or wanted.extra:
        raise bad_request(f"requested {_go_text(wanted)} without impersonating a user name")
    return None


def _go_text(wanted: Wanted) -> str:
    """Write a user as the refusal shows it."""

    def texts(values: tuple[str, ...]) -> str:
        shown = ", ".join(f'"{value}"' for value in values)
        return f"[]string{{{shown}}}" if values else "[]string(nil)"

    extra = ", ".join(f'"{key}":{texts(values)}' for key, values in wanted.extra)
    shown = f"map[string][]string{{{extra}}}" if wanted.extra else "map[string][]string(nil)"
    return f'&user.DefaultInfo{{Name:"", UID:"{wanted.uid}", Groups:{texts(wanted.groups)}, Extra:{shown}}}'


def _account(name: str) -> tuple[str, str] | None:
    """Return namespace and name of a service account's user."""
    if not name.startswith(_ACCOUNT):
        return None
    namespace, mark, account = name.removeprefix(_ACCOUNT).partition(":")
    return (namespace, account) if mark and namespace and account and ":" not in account else None


@dataclass(slots=True)
class Impersonation:
    """Decides who may act as whom."""

    authorizer: Authorizer
    #: User → the way in which they last succeeded: it is tried first, and its refusal is the one they hear.
    _last: dict[str, str] = field(default_factory=dict)

    def user_of(self, user: User, headers: dict[str, str], asked: ImpersonatedAction) -> User:
        """Return the user as whom a request acts; reject it if that is forbidden."""
        wanted = wanted_user(headers)
        if wanted is None:
            return user
        if is_privileged(user):
            return wanted.user()
        refused: Refusal | None = None
        last = self._last.get(user.name)
        for way in sorted(_ways(wanted), key=lambda way: way != last):
            refusal = self._refusal(user, wanted, way, asked)
            if refusal is None:
                if len(self._last) >= _REMEMBERED:
                    self._last.clear()
                self._last[user.name] = way
                return wanted.user()
            refused = refused or refusal
        assert refused is not None, "there is always the old way"  # noqa: S101 - see _ways
        raise refused

    def _refusal(self, user: User, wanted: Wanted, way: str, asked: ImpersonatedAction) -> Refusal | None:
        if way == _LEGACY:
            return self._first(user, "impersonate", _legacy_targets(wanted))
        refusal = self._refuse_action(user, f"impersonate-on:{way}:{asked.verb}", asked)
        verb = f"impersonate:{way}"
        return refusal or _forbidden(user, verb, wanted) or self._first(user, verb, _targets(wanted))

    def _refuse_action(self, user: User, verb: str, asked: ImpersonatedAction) -> Refusal | None:
        if asked.info is None:
            decision = self.authorizer.decide_path(user, verb, asked.path)
            return None if decision.allowed else forbidden_path(user, verb, asked.path, decision.reason)
        decision = self.authorizer.decide(user, verb, asked.info)
        return None if decision.allowed else forbidden_resource(user, verb, asked.info, decision.reason)

    def _first(self, user: User, verb: str, targets: Iterator[RequestInfo]) -> Refusal | None:
        for info in targets:
            decision = self.authorizer.decide(user, verb, info)
            if not decision.allowed:
                return forbidden_resource(user, verb, info, decision.reason)
        return None


def _forbidden(user: User, verb: str, wanted: Wanted) -> Refusal | None:
    """Reject what constrained impersonation never allows."""
    if PRIVILEGED in wanted.groups:
        info = RequestInfo(_AUTHENTICATION, "v1", "groups", "", PRIVILEGED)
        return forbidden_resource(user, verb, info, f"impersonating the {PRIVILEGED} group is not allowed")
    for key, _ in wanted.extra:
        if "/" not in key:
            why = invalid("extra.key", key, 'must be a domain-prefixed path (such as "acme.io/foo")')
            info = RequestInfo(_AUTHENTICATION, "v1", "userextras")
            return forbidden_resource(user, verb, info, f"impersonating an invalid key in extra is not allowed: {why}")
    return None


def _ways(wanted: Wanted) -> list[str]:
    """Return the modes of impersonation for a user, in the order in which they are tried."""
    if _account(wanted.name):
        return ["serviceaccount", _LEGACY]
    if wanted.name.startswith(_NODE):
        return ["arbitrary-node", _LEGACY]
    return ["user-info", _LEGACY]


def _legacy_targets(wanted: Wanted) -> Iterator[RequestInfo]:
    if account := _account(wanted.name):
        yield RequestInfo("", "v1", "serviceaccounts", *account)
    else:
        yield RequestInfo("", "v1", "users", "", wanted.name)
    for group in wanted.groups:
        yield RequestInfo("", "v1", "groups", "", group)
    yield from _rest(wanted)


def _targets(wanted: Wanted) -> Iterator[RequestInfo]:
    if account := _account(wanted.name):
        yield RequestInfo(_AUTHENTICATION, "v1", "serviceaccounts", *account)
    elif wanted.name.startswith(_NODE):
        yield RequestInfo(_AUTHENTICATION, "v1", "nodes", "", wanted.name.removeprefix(_NODE))
    else:
        yield RequestInfo(_AUTHENTICATION, "v1", "users", "", wanted.name)
    for group in wanted.groups:
        yield RequestInfo(_AUTHENTICATION, "v1", "groups", "", group)
    yield from _rest(wanted)


def _rest(wanted: Wanted) -> Iterator[RequestInfo]:
    for key, values in wanted.extra:
        for value in values:
            yield RequestInfo(_AUTHENTICATION, "v1", "userextras", "", value, key)
    if wanted.uid:
        yield RequestInfo(_AUTHENTICATION, "v1", "uids", "", wanted.uid)
