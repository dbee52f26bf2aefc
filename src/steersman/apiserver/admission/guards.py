"""Permissions that depend on the written content: roles, bindings, certificate requests."""

from steersman.apiserver.access.authorization import is_privileged
from steersman.apiserver.access.rbac.authorizer import Rbac
from steersman.apiserver.access.rbac.escalation import Escalation
from steersman.apiserver.messages.api_request import ApiRequest
from steersman.apiserver.messages.info import RequestInfo
from steersman.json_types import JsonObject

_CERTIFICATES = "certificates.k8s.io"
#: Subresource of a certificate request → the verb that the user needs for its signer.
_SIGNER_VERBS = {"approval": "approve", "status": "sign"}


class Guards:
    """Checks writes that could extend a user's permissions."""

    def __init__(self, rbac: Rbac) -> None:
        self._rbac = rbac
        self._escalation = Escalation(rbac)

    def check(self, request: ApiRequest, obj: JsonObject, old: JsonObject | None) -> None:
        """Reject writes that exceed the user's permissions; privileged users are exempt."""
        if is_privileged(request.user):
            return
        if old is None and request.http.method != "POST":
            # A patch or an update that creates the object.
            self._rbac.demand(request.user, "create", request.info)
        self._escalation.check(request, obj, old)
        if request.served.group == _CERTIFICATES and old is not None:
            self._check_signer(request, obj, old)

    def _check_signer(self, request: ApiRequest, obj: JsonObject, old: JsonObject) -> None:
        part = request.info.subresource
        verb = _SIGNER_VERBS.get(part)
        if verb is None or (part == "status" and (obj.get("status") or {}) == (old.get("status") or {})):
            return
        signer = old["spec"].get("signerName", "")
        domain, _, _ = signer.rpartition("/")
        for name in (signer, f"{domain}/*"):
            info = RequestInfo(_CERTIFICATES, "*", "signers", "", name)
            if self._rbac.decide(request.user, verb, info).allowed:
                return
        why = f'user not permitted to {verb} requests with signerName "{signer}"'
        raise request.served.forbidden(old["metadata"]["name"], why)
