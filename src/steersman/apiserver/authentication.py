"""Who is asking: bearer tokens and client certificates; without either, nobody in particular."""

import hmac
from collections.abc import Mapping
from typing import Any

from steersman.apiserver.call import User
from steersman.apiserver.status import Refusal, unauthorized
from steersman.protocol.http import Peer, Request

ADMIN = User("admin", ("system:masters", "system:authenticated"), uid="admin")
ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))


class Authentication:
    """Recognises users. A server that knows no tokens takes everyone for the admin: it is then in-process only."""

    def __init__(self, tokens: Mapping[str, User] | None) -> None:
        self._tokens = None if tokens is None else dict(tokens)

    def user_of(self, request: Request, peer: Peer) -> User:
        """Recognise who sends a request; wrong credentials are refused, missing ones make an anonymous user."""
        if self._tokens is None:
            return ADMIN
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and token and not token.startswith(" "):
            return self._by_token(token)
        if peer.certificate is not None:
            return _by_certificate(peer.certificate)
        return ANONYMOUS

    def user_of_token(self, token: str) -> User | None:
        """Tell whose token it is; nobody's when it is not known."""
        if self._tokens is None:
            return None
        try:
            return self._by_token(token)
        except Refusal:
            return None

    def _by_token(self, token: str) -> User:
        assert self._tokens is not None  # noqa: S101 - the caller checked
        found = None
        for known, user in self._tokens.items():
            # Every token is compared, in constant time: answers tell nothing about how close a guess was.
            if hmac.compare_digest(known.encode(), token.encode()):
                found = user
        if found is None:
            raise unauthorized()
        return found


def _by_certificate(certificate: dict[str, Any]) -> User:
    """Read a verified certificate: the common name is the user, organizations are groups."""
    parts = [pair for group in certificate.get("subject", ()) for pair in group]
    name = next((value for key, value in parts if key == "commonName"), "")
    groups = tuple(value for key, value in parts if key == "organizationName")
    return User(name, (*groups, "system:authenticated"))
