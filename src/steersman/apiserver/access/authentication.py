"""Authentication by bearer tokens and client certificates; requests without either are anonymous."""

import hmac
from collections.abc import Mapping

from steersman.apiserver.access.service_account_tokens import AUDIENCE, ServiceAccountTokens, Verified
from steersman.apiserver.resources.request_context import User
from steersman.apiserver.status import Refusal, unauthorized
from steersman.json_types import JsonObject
from steersman.protocol.http import Peer, Request

ADMIN = User("admin", ("system:masters", "system:authenticated"), uid="admin")
ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))


class Authentication:
    """Recognises users.

    A server without tokens treats requests without credentials as the admin's; it is used only inside a process.
    """

    def __init__(self, tokens: Mapping[str, User] | None, accounts: ServiceAccountTokens) -> None:
        self._tokens = {token.encode(): user for token, user in (tokens or {}).items()}
        self._nobody = ADMIN if tokens is None else ANONYMOUS
        self._accounts = accounts

    def user_of(self, request: Request, peer: Peer) -> User:
        """Recognise who sends a request; wrong credentials are refused, missing ones make an anonymous user."""
        shown = request.headers.get("authorization")
        if shown is not None:
            scheme, _, token = shown.partition(" ")
            if scheme.lower() == "bearer" and token and not token.startswith(" "):
                return self._by_token(token)
        if peer.certificate is not None:
            return _by_certificate(peer.certificate)
        return self._nobody

    def verify(self, token: str) -> Verified | None:
        """Return the user and the audiences of a token; ``None`` if it is unknown."""
        found = self._static(token)
        if found is not None:
            return Verified(found, (AUDIENCE,))
        return self._accounts.verify(token)

    def _by_token(self, token: str) -> User:
        found = self._static(token)
        if found is not None:
            return found
        verified = self._accounts.verify(token)
        if verified is None or AUDIENCE not in verified.audiences:
            raise unauthorized()
        return verified.user

    def _static(self, token: str) -> User | None:
        found, shown = None, token.encode("utf-8", "surrogateescape")
        for known, user in self._tokens.items():
            # Every token is compared, in constant time: answers tell nothing about how close a guess was.
            if hmac.compare_digest(known, shown):
                found = user
        return found


def _by_certificate(certificate: JsonObject) -> User:
    """Read a verified certificate: the common name is the user, organizations are groups."""
    parts = [pair for group in certificate.get("subject", ()) for pair in group]
    name = next((value for key, value in parts if key == "commonName"), "")
    if not name:
        raise Refusal(401, "Unauthorized", "Unauthorized")
    groups = tuple(value for key, value in parts if key == "organizationName")
    return User(name, (*groups, "system:authenticated"))
