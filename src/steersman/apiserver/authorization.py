"""What a user may do: the admin everything, everyone else only what every client needs to find its way."""

from typing import Protocol

from steersman.apiserver.call import User
from steersman.apiserver.request_info import RequestInfo
from steersman.apiserver.status import Refusal, details, qualified

_PUBLIC = ("/healthz", "/livez", "/readyz", "/version")
_DISCOVERY = ("/api", "/apis", "/openapi", "/version", "/healthz", "/livez", "/readyz")


class Authorizer(Protocol):
    """Decides what a user may do."""

    def allows(self, user: User, verb: str, info: RequestInfo) -> bool:
        """Tell whether a user may do something with a resource."""

    def allows_path(self, user: User, path: str) -> bool:
        """Tell whether a user may read a path that is no resource."""


class AdminOnly:
    """Lets members of ``system:masters`` do everything and others nothing but look around."""

    def allows(self, user: User, verb: str, info: RequestInfo) -> bool:
        """Tell whether a user may do something with a resource."""
        del verb, info
        return "system:masters" in user.groups

    def allows_path(self, user: User, path: str) -> bool:
        """Tell whether a user may read a path that is no resource."""
        if "system:masters" in user.groups:
            return True
        allowed = _DISCOVERY if "system:authenticated" in user.groups else _PUBLIC
        return any(path == prefix or path.startswith(f"{prefix}/") for prefix in allowed)


def forbidden_resource(user: User, verb: str, info: RequestInfo) -> Refusal:
    """403: the user may not do this with the resource."""
    target = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    scope = f'in the namespace "{info.namespace}"' if info.namespace else "at the cluster scope"
    name = f' "{info.name}"' if info.name else ""
    message = (
        f'{qualified(info.resource, info.group)}{name} is forbidden: User "{user.name}" cannot {verb} resource '
        f'"{target}" in API group "{info.group}" {scope}'
    )
    return Refusal(403, "Forbidden", message, details=details(info.name, info.group, info.resource))


def forbidden_path(user: User, verb: str, path: str) -> Refusal:
    """403: the user may not read the path."""
    message = f'forbidden: User "{user.name}" cannot {verb} path "{path}"'
    return Refusal(403, "Forbidden", message, details={})
