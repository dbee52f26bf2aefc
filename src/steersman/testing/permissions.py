"""`PermissionTracker`: enforces the roles of operators in a test, and records what they used and were denied.

The roles are those that ``steer manifests`` writes. So an operator that needs more than it declares fails its own
tests, with the line to add in the message; and a test of its whole life cycle shows which permissions are unused.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from steersman.apiserver.access.authorization import Decision
from steersman.apiserver.access.service_account_tokens import service_account_user
from steersman.apiserver.messages.info import RequestInfo
from steersman.apiserver.resources.request_context import User
from steersman.apiserver.server import ApiServer
from steersman.client.client import Client
from steersman.kinds import rbac_v1
from steersman.manager.manager import ManagerOptions
from steersman.manager.operator import Operator
from steersman.manager.permission import Permission, line
from steersman.manager.rbac import EVENTS, READ, Grant, RoleRules, grants_of, roles_of
from steersman.objects.codec import decode_as, encode_json
from steersman.objects.meta import meta
from steersman.objects.resource import KubeObject, resource_of
from steersman.transport.base import Transport

_RBAC: Final = "rbac.authorization.k8s.io"
#: Namespace of the operators' accounts, unless they elect a leader in another one.
HOME: Final = "default"


@dataclass(frozen=True, slots=True)
class Use:
    """A request that an account made, allowed or not."""

    account: str
    verb: str
    group: str
    resource: str
    subresource: str
    namespace: str
    kind: str
    allowed: bool

    @property
    def target(self) -> str:
        """The resource as rules name it."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource

    @property
    def where(self) -> str:
        """The resource and its namespace, for messages."""
        full = f"{self.target}.{self.group}" if self.group else self.target
        return f"{full} in {f'namespace {self.namespace}' if self.namespace else 'the whole cluster'}"


class PermissionTracker:
    """The accounts of a test's operators, and their requests."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._uses: dict[Use, None] = {}
        #: The account of each operator, by its name; operators that run together share one.
        self._accounts: dict[str, str] = {}
        server.rbac.observers.append(self._note)

    def __repr__(self) -> str:
        return f"<PermissionTracker accounts={sorted(set(self._accounts.values()))} uses={len(self._uses)}>"

    @property
    def uses(self) -> list[Use]:
        """Requests of all accounts so far, without duplicates, in order of first occurrence."""
        return list(self._uses)

    def _note(self, user: User, verb: str, info: RequestInfo, decision: Decision) -> None:
        served = self._server.catalog.find(info.group, info.version, info.resource)
        kind = served.kind if served is not None else info.resource
        asked = (user.name, verb, info.group, info.resource, info.subresource, info.namespace)
        self._uses[Use(*asked, kind, decision.allowed)] = None

    async def grant(self, transport: Transport, operators: Sequence[Operator], options: ManagerOptions) -> User:
        """Create an account with the roles of all operators that run together."""
        client = Client(transport)
        home = options.election.namespace if options.election is not None else HOME
        name = operators[0].name
        user = service_account_user(home, name)
        for operator in operators:
            self._accounts[operator.name] = user.name
            for role in roles_of(operator, home=home, watch=options.namespaces):
                for obj in _objects(role, name, home):
                    await client.apply(obj, force=True)
        return user

    @contextmanager
    def checking(self, operators: Sequence[Operator], options: ManagerOptions) -> Iterator[None]:
        """Fail at the end of the block if operators were denied a request in it; add that to the block's own error."""
        before = dict(self._uses)
        accounts = {self._accounts[operator.name] for operator in operators}

        def normalised_texts() -> str:
            refused = [use for use in self._uses if use not in before and use.account in accounts and not use.allowed]
            return _missing_text(operators, refused, options.namespaces)

        try:
            yield
        except Exception as error:
            if text := normalised_texts():
                error.add_note(text)
            raise
        if text := normalised_texts():
            raise AssertionError(text)

    def violations(self, operator: Operator) -> list[str]:
        """Return what an operator was denied, and which of its permissions it never used."""
        account = self._accounts.get(operator.name)
        if account is None:
            raise LookupError(f"operator {operator.name!r} did not run here")
        mine = [use for use in self._uses if use.account == account]
        missing = _missing_text([operator], [use for use in mine if not use.allowed], ())
        kinds = {(use.group, use.resource): use.kind for use in mine} | _kinds_of(operator)
        unused = _unused(grants_of(operator), {(use.group, use.target, use.verb) for use in mine})
        asked = {_asked(permission) for permission in operator.permissions}
        told = [_unused_text(grant, kinds, permitted=(grant.group, grant.resource) in asked) for grant in unused]
        return [*([missing] if missing else []), *told]


def _objects(role: RoleRules, account: str, home: str) -> tuple[KubeObject, KubeObject]:
    """Return a role and its binding to an account."""
    rules = [decode_as(rbac_v1.PolicyRule, encode_json(rule)) for rule in role.rules]
    subjects = [rbac_v1.Subject(kind="ServiceAccount", name=account, namespace=home)]
    kind = "Role" if role.namespace else "ClusterRole"
    reference = rbac_v1.RoleRef(api_group=_RBAC, kind=kind, name=role.name)
    if not role.namespace:
        binding = rbac_v1.ClusterRoleBinding(meta(role.name), role_ref=reference, subjects=subjects)
        return rbac_v1.ClusterRole(meta(role.name), rules=rules), binding
    place = meta(role.name, role.namespace)
    return rbac_v1.Role(place, rules=rules), rbac_v1.RoleBinding(place, role_ref=reference, subjects=subjects)


def _missing_text(operators: Sequence[Operator], refused: list[Use], namespaces: Sequence[str]) -> str:
    """Return what was denied and which line grants it; empty if nothing was denied."""
    if not refused:
        return ""
    granted = {
        (grant.group, grant.resource, verb)
        for operator in operators
        for grant in grants_of(operator)
        for verb in grant.verbs
    }
    names = ", ".join(repr(operator.name) for operator in operators)
    lines = [f"operator {names} was denied requests that it does not declare:"]
    together: dict[tuple[str, ...], list[Use]] = {}
    for use in refused:
        together.setdefault((use.group, use.target, use.namespace), []).append(use)
    for uses in together.values():
        use, verbs = uses[0], tuple(use.verb for use in uses)
        if (use.group, use.target, use.verb) in granted:
            remedy = f"it looks only at {', '.join(namespaces) or 'what its watches select'}"
        else:
            remedy = f"add operator.{line(use.kind, verbs, use.subresource)}"
        lines.append(f"  {', '.join(verbs)} {use.where}: {remedy}")
    return "\n".join(lines)


def _unused(grants: Iterable[Grant], used: set[tuple[str, str, str]]) -> Iterator[Grant]:
    """Yield the permissions that were granted and never used.

    Get, list and watch count as one permission: a client that may list can read everything. Events are written by the
    framework itself, to report failures. Blocking owner references need the permission to change finalizers only where
    a server enforces it.
    """
    for grant in grants:
        if (grant.group, grant.resource) == (EVENTS.group, EVENTS.resource) or grant.resource.endswith("/finalizers"):
            continue
        reads = any((grant.group, grant.resource, verb) in used for verb in READ)
        verbs = [verb for verb in grant.verbs if (grant.group, grant.resource, verb) not in used]
        left = tuple(verb for verb in verbs if not (reads and verb in READ))
        if left:
            yield Grant(grant.group, grant.resource, left, grant.namespaced)


def _kinds_of(operator: Operator) -> dict[tuple[str, str], str]:
    declared = [permission.kind for permission in operator.permissions]
    for reconciler in operator.reconcilers:
        declared += [reconciler.kind, *reconciler.options.owns, *(watch.kind for watch in reconciler.options.watches)]
    return {(resource_of(kind).gvk.group, resource_of(kind).plural): kind.__name__ for kind in declared}


def _asked(permission: Permission) -> tuple[str, str]:
    resource = resource_of(permission.kind)
    part = f"/{permission.subresource}" if permission.subresource else ""
    return resource.gvk.group, f"{resource.plural}{part}"


def _unused_text(grant: Grant, kinds: dict[tuple[str, str], str], *, permitted: bool) -> str:
    plural, _, part = grant.resource.partition("/")
    full = f"{grant.resource}.{grant.group}" if grant.group else grant.resource
    call = line(kinds.get((grant.group, plural), plural), grant.verbs, part, call="permit" if permitted else "decline")
    end = f"remove it from operator.{call}" if permitted else f"add operator.{call}"
    return f"  {', '.join(grant.verbs)} {full} was never used: extend the test so that it is used, or {end}"
