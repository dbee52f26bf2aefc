"""`Rbac`: decides by roles and bindings."""

from collections.abc import Iterable

from steersman.apiserver.access.authorization import ALLOWED, Decision, OnDecision, forbidden_resource, is_privileged
from steersman.apiserver.access.rbac.bindings import Bindings
from steersman.apiserver.access.rbac.rules import Rule
from steersman.apiserver.messages.info import RequestInfo
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.resources.request_context import User


class Rbac:
    """Lets users do what their roles allow, and members of ``system:masters`` everything."""

    def __init__(self, objects: ObjectStore) -> None:
        self.bindings = Bindings(objects)
        #: Called with each request and its decision, except for privileged users, who are not checked.
        self.observers: list[OnDecision] = []

    def demand(self, user: User, verb: str, info: RequestInfo) -> None:
        """Reject a request that a user may not make."""
        decision = self.decide(user, verb, info)
        for observe in self.observers:
            observe(user, verb, info, decision)
        if not decision.allowed:
            raise forbidden_resource(user, verb, info, decision.reason)

    def decide(self, user: User, verb: str, info: RequestInfo) -> Decision:
        """Decide whether a user may do something with a resource."""
        if is_privileged(user):
            return ALLOWED
        part = info.subresource
        target = f"{info.resource}/{part}" if part else info.resource
        missing: list[str] = []
        for grant in self.bindings.rights(user).grants(info.namespace):
            for rule in grant.rules:
                if rule.allows(verb, info.group, target, part, info.name):
                    return Decision(allowed=True, reason=f"RBAC: allowed by {grant.told}")
            if grant.missing:
                missing.append(grant.missing)
        return _denied(missing)

    def decide_path(self, user: User, verb: str, path: str) -> Decision:
        """Decide whether a user may use a path that is no resource."""
        if is_privileged(user):
            return ALLOWED
        missing: list[str] = []
        for grant in self.bindings.rights(user).grants(""):
            for rule in grant.rules:
                if rule.allows_path(verb, path):
                    return Decision(allowed=True, reason=f"RBAC: allowed by {grant.told}")
            if grant.missing:
                missing.append(grant.missing)
        return _denied(missing)

    def rules(self, user: User, namespace: str) -> tuple[list[Rule], list[str]]:
        """Return every rule for a user in a namespace, and the errors of missing roles."""
        rules: list[Rule] = []
        missing: list[str] = []
        for grant in self.bindings.rights(user).grants(namespace):
            rules += grant.rules
            if grant.missing:
                missing.append(grant.missing)
        return rules, list(dict.fromkeys(missing))


def _denied(missing: Iterable[str]) -> Decision:
    faults = list(dict.fromkeys(missing))
    if not faults:
        return Decision(allowed=False)
    return Decision(allowed=False, reason=f"RBAC: {aggregated(faults)}")


def aggregated(faults: list[str]) -> str:
    """Write several faults as one, as Kubernetes does."""
    return faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]"
