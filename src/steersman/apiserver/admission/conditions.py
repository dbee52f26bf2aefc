"""CEL expressions of webhooks and policies: their variables, compiled once, and their values."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from steersman.apiserver.access.authorization import Authorizer as Decider
from steersman.apiserver.access.service_account_tokens import service_account_user
from steersman.apiserver.admission.attributes import Attributes, user_info
from steersman.apiserver.messages.info import RequestInfo
from steersman.apiserver.resources.request_context import User
from steersman.cel import CelType, CostExceeded, EvaluationError, ExpressionError, Program, compile_expression
from steersman.cel.library.authorizer import AUTHORIZER, Authorizer, Question, Ruling
from steersman.cel.types import DYN
from steersman.cel.values.values import JsonMap, from_json
from steersman.json_types import JsonObject

_OWN = re.compile(r"\bauthorizer\.requestResource\b(?!\()")
#: Variables of every expression.
_VARIABLES: dict[str, CelType] = {
    "object": DYN,
    "oldObject": DYN,
    "request": DYN,
    "authorizer": AUTHORIZER,
    "params": DYN,
    "namespaceObject": DYN,
    "variables": DYN,
}


class Failed(Exception):  # noqa: N818 - the outcome of an expression
    """An expression failed; ``str()`` tells which, and why."""


@lru_cache(maxsize=4096)
def program(expression: str, *, makes_patches: bool = False) -> Program:
    """Compile an expression with the variables of admission."""
    own = _OWN.sub("authorizer.requestResource()", expression)
    return compile_expression(own, _VARIABLES, makes_patches=makes_patches)


class Scope:
    """The variables of one webhook's or policy's expressions for one request."""

    def __init__(self, attributes: Attributes, decider: Decider, values: JsonObject | None = None) -> None:
        self._attributes = attributes
        self._decider = decider
        self._values: JsonObject = values if values is not None else self._first_values()

    def _first_values(self) -> JsonObject:
        attributes = self._attributes
        return {
            "object": from_json(attributes.obj),
            "oldObject": from_json(attributes.old),
            "request": from_json(request_document(attributes)),
            "authorizer": Authorizer(self._ask, self._request_question()),
            "params": None,
            "namespaceObject": None,
            "variables": JsonMap({}),
        }

    def with_values(self, **values: object) -> "Scope":
        """Return a scope in which these names have other values."""
        return Scope(self._attributes, self._decider, {**self._values, **values})

    def with_variables(self, variables: list[JsonObject]) -> "Scope":
        """Return a scope with the variables of a policy; each is evaluated when it is first used."""
        return _Variables(self, variables).scope

    def evaluate(self, expression: str) -> object:
        """Return the value of an expression, or raise `Failed`."""
        return self._value(expression, makes_patches=False)

    def patch(self, expression: str) -> object:
        """Return the value of an expression that can build patches, or raise `Failed`."""
        return self._value(expression, makes_patches=True)

    def _value(self, expression: str, *, makes_patches: bool) -> object:
        try:
            return self.raw(expression, makes_patches=makes_patches)
        except (EvaluationError, CostExceeded) as error:
            raise Failed(f"expression '{expression}' resulted in error: {error}") from None
        except ExpressionError as error:
            raise Failed(f"compilation error: {error}") from None

    def raw(self, expression: str, *, makes_patches: bool = False) -> object:
        """Return the value of an expression, or raise CEL's own errors."""
        compiled = program(expression, makes_patches=makes_patches)
        return compiled.evaluate(*(self._values[name] for name in compiled.variables))

    def _request_question(self) -> Question:
        served, info = self._attributes.request.served, self._attributes.request.info
        return Question(
            group=served.group,
            resource=served.plural,
            subresource=info.subresource,
            namespace=info.namespace,
            name=self._attributes.name,
        )

    def _ask(self, question: Question) -> Ruling:
        user = self._attributes.request.user
        if question.account is not None:
            user = service_account_user(*question.account)
        return _ruling(self._decider, user, question)


def _ruling(decider: Decider, user: User, question: Question) -> Ruling:
    if question.path:
        decision = decider.decide_path(user, question.verb, question.path)
    else:
        info = RequestInfo(
            question.group, "*", question.resource, question.namespace, question.name, question.subresource
        )
        decision = decider.decide(user, question.verb, info)
    return Ruling(decision.allowed, decision.reason)


class _Variables(Mapping[str, Any]):
    """The variables of a policy, each evaluated when it is first used."""

    def __init__(self, scope: Scope, variables: list[JsonObject]) -> None:
        self._expressions: dict[str, str] = {item["name"]: item["expression"] for item in variables}
        self._values: JsonObject = {}
        #: The scope with these variables, in which their own expressions are evaluated, too.
        self.scope = scope.with_values(variables=JsonMap(self))

    def __getitem__(self, name: str) -> object:
        if name not in self._values:
            try:
                self._values[name] = self.scope.raw(self._expressions[name])
            except EvaluationError as error:
                raise EvaluationError(f'composited variable "{name}" fails to evaluate: {error}') from None
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._expressions)

    def __len__(self) -> int:
        return len(self._expressions)


def request_document(attributes: Attributes) -> JsonObject:
    """Return the ``request`` variable of expressions, without the objects."""
    request = attributes.request
    resource = {"group": request.served.group, "version": request.served.version, "resource": request.served.plural}
    kind = attributes.kind._asdict()
    told: JsonObject = {
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "name": attributes.name,
        "namespace": attributes.namespace,
        "operation": attributes.operation,
        "userInfo": user_info(request.user),
        "dryRun": attributes.dry_run,
        "options": attributes.options,
    }
    if (matched := attributes.matched) is not None:
        told["kind"] = matched.resource.gvk._asdict()
        told["resource"] = {**resource, "group": matched.group, "version": matched.version}
    if attributes.subresource:
        told["subResource"] = told["requestSubResource"] = attributes.subresource
    return told


def holds(conditions: list[JsonObject], scope: Callable[[], Scope]) -> bool:
    """Return whether all match conditions hold; raise `Failed` if one fails and none is false."""
    if not conditions:
        return True
    seen, failure = scope(), None
    for condition in conditions:
        try:
            if seen.evaluate(condition["expression"]) is not True:
                return False
        except Failed as error:
            failure = failure or error
    if failure is not None:
        raise failure
    return True
