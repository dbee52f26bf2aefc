"""The authorizer: what the author of a request may do. Only admission has one; elsewhere nothing is of its type."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

from steersman.cel.checking.overloads import member
from steersman.cel.types import BOOL, STRING, CelType, Kind
from steersman.cel.values.values import Opaque

_PACKAGE = "kubernetes.authorization."
AUTHORIZER = CelType(Kind.OBJECT, f"{_PACKAGE}Authorizer")
_PATH = CelType(Kind.OBJECT, f"{_PACKAGE}PathCheck")
_GROUP = CelType(Kind.OBJECT, f"{_PACKAGE}GroupCheck")
_RESOURCE = CelType(Kind.OBJECT, f"{_PACKAGE}ResourceCheck")
_DECISION = CelType(Kind.OBJECT, f"{_PACKAGE}Decision")


class Question(NamedTuple):
    """What an authorizer is asked: about a path, or about a resource."""

    verb: str = ""
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    #: A service account to ask about instead of the author of the request: namespace and name.
    account: tuple[str, str] | None = None


class Ruling(NamedTuple):
    """What an authorizer answers."""

    allowed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Authorizer(Opaque):
    """Decides what a user may do."""

    ask: Callable[[Question], Ruling]
    #: What the request itself is about.
    request: Question
    account: tuple[str, str] | None = None

    type_name: ClassVar[str] = AUTHORIZER.name


@dataclass(frozen=True, slots=True)
class _Check(Opaque):
    """An incomplete authorization check."""

    authorizer: Authorizer
    question: Question


class _PathCheck(_Check):
    __slots__ = ()
    type_name: ClassVar[str] = _PATH.name


class _GroupCheck(_Check):
    __slots__ = ()
    type_name: ClassVar[str] = _GROUP.name


class _ResourceCheck(_Check):
    __slots__ = ()
    type_name: ClassVar[str] = _RESOURCE.name


@dataclass(frozen=True, slots=True)
class _Decision(Opaque):
    """An answer."""

    ruling: Ruling

    type_name: ClassVar[str] = _DECISION.name


def _path(authorizer: Authorizer, path: str) -> _PathCheck:
    return _PathCheck(authorizer, Question(path=path, account=authorizer.account))


def _group(authorizer: Authorizer, group: str) -> _GroupCheck:
    return _GroupCheck(authorizer, Question(group=group, account=authorizer.account))


def _account(authorizer: Authorizer, namespace: str, name: str) -> Authorizer:
    return replace(authorizer, account=(namespace, name))


def _own(authorizer: Authorizer) -> _ResourceCheck:
    return _ResourceCheck(authorizer, authorizer.request)


def _resource(check: _GroupCheck, resource: str) -> _ResourceCheck:
    return _ResourceCheck(check.authorizer, check.question._replace(resource=resource))


def _subresource(check: _ResourceCheck, subresource: str) -> _ResourceCheck:
    return _ResourceCheck(check.authorizer, check.question._replace(subresource=subresource))


def _namespace(check: _ResourceCheck, namespace: str) -> _ResourceCheck:
    return _ResourceCheck(check.authorizer, check.question._replace(namespace=namespace))


def _name(check: _ResourceCheck, name: str) -> _ResourceCheck:
    return _ResourceCheck(check.authorizer, check.question._replace(name=name))


def _unselected(check: _ResourceCheck, selector: str) -> _ResourceCheck:
    """Return the check unchanged: selectors are ignored, as by an authorizer by roles."""
    del selector
    return check


def _ask(check: _Check, verb: str) -> _Decision:
    return _Decision(check.authorizer.ask(check.question._replace(verb=verb)))


_ON_RESOURCE = (_RESOURCE, STRING)

OVERLOADS = [
    member("path", "authorizer_path", (AUTHORIZER, STRING), _PATH, _path),
    member("group", "authorizer_group", (AUTHORIZER, STRING), _GROUP, _group),
    member("serviceAccount", "authorizer_serviceaccount", (AUTHORIZER, STRING, STRING), AUTHORIZER, _account),
    member("requestResource", "authorizer_requestresource", (AUTHORIZER,), _RESOURCE, _own),
    member("resource", "groupcheck_resource", (_GROUP, STRING), _RESOURCE, _resource),
    member("subresource", "resourcecheck_subresource", _ON_RESOURCE, _RESOURCE, _subresource),
    member("namespace", "resourcecheck_namespace", _ON_RESOURCE, _RESOURCE, _namespace),
    member("name", "resourcecheck_name", _ON_RESOURCE, _RESOURCE, _name),
    member("fieldSelector", "resourcecheck_fieldselector", _ON_RESOURCE, _RESOURCE, _unselected),
    member("labelSelector", "resourcecheck_labelselector", _ON_RESOURCE, _RESOURCE, _unselected),
    member("check", "pathcheck_check", (_PATH, STRING), _DECISION, _ask),
    member("check", "resourcecheck_check", _ON_RESOURCE, _DECISION, _ask),
    member("allowed", "decision_allowed", (_DECISION,), BOOL, lambda decision: decision.ruling.allowed),
    member("reason", "decision_reason", (_DECISION,), STRING, lambda decision: decision.ruling.reason),
    member("errored", "decision_errored", (_DECISION,), BOOL, lambda _: False),
    member("error", "decision_error", (_DECISION,), STRING, lambda _: ""),
]
