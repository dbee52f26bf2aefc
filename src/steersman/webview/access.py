"""Access to the web view: a token, and proof that the request comes from the view's own page.

The token alone keeps strangers out. The other checks keep *other web pages* of the same browser out, which can send
requests to loopback too:

- ``Host`` must be a name of this machine. A page of another domain whose DNS name is changed to 127.0.0.1 ("DNS
  rebinding") is same-origin with us in the eyes of the browser, but it still sends its own name.
- ``Origin``, where a browser sends it, must be this server.
- ``Sec-Fetch-Site`` must not name another site, except for following a link to the page itself.

The token travels in a header, never in a cookie: cookies are shared by all ports of a host, so any other server on
this machine would receive it.
"""

import secrets
from typing import Final
from urllib.parse import parse_qs

from msgspec import Struct

from steersman.errors import ConfigError
from steersman.protocol.http import Request

#: Names by which a browser on this machine reaches it.
LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
#: Characters that a token must have: fewer could be guessed.
SHORTEST_TOKEN: Final = 16

_BEARER: Final = "Bearer "


class Refusal(Struct, frozen=True):
    """Why a request is not answered."""

    status: int
    message: str


class AccessRules(Struct, frozen=True, kw_only=True):
    """The token of one run, and the host names under which the view may be reached, without ports."""

    token: str
    hosts: frozenset[str] = LOOPBACK

    def __post_init__(self) -> None:
        if len(self.token) < SHORTEST_TOKEN:
            raise ConfigError(f"the token of the web view must have at least {SHORTEST_TOKEN} characters")

    def __repr__(self) -> str:
        return f"AccessRules(hosts={sorted(self.hosts)})"  # a token must not end up in a log

    def refuse_page(self, request: Request) -> Refusal | None:
        """Return why a request for the page or its files is rejected; they hold no data and need no token."""
        is_link = request.headers.get("sec-fetch-mode") == "navigate"
        return self._refuse_host(request) or self._refuse_origin(request, is_link=is_link)

    def refuse_data(self, request: Request) -> Refusal | None:
        """Return why a request for data is rejected."""
        return (
            self._refuse_host(request)
            or self._refuse_origin(request, is_link=False)
            or self._refuse_token(_bearer(request) or _query_token(request))
        )

    def refuse_action(self, request: Request) -> Refusal | None:
        """Return why an action is rejected; its token must be in the header, which no form and no link can send."""
        refusal = (
            self._refuse_host(request)
            or self._refuse_origin(request, is_link=False)
            or self._refuse_token(_bearer(request))
        )
        if refusal is not None:
            return refusal
        content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if content_type != "application/json":
            return Refusal(415, f"An action is sent as application/json, not as {content_type or 'nothing'}.")
        return None

    def _refuse_host(self, request: Request) -> Refusal | None:
        host = request.headers.get("host", "")
        if _without_port(host) in self.hosts:
            return None
        return Refusal(
            421,
            f"The web view is not served as {host or 'a nameless host'}: open it as {' or '.join(sorted(self.hosts))}.",
        )

    def _refuse_origin(self, request: Request, *, is_link: bool) -> Refusal | None:
        host = request.headers.get("host", "").lower()
        origin = request.headers.get("origin")
        if origin is not None and origin.lower() not in {f"http://{host}", f"https://{host}"}:
            return Refusal(403, f"Requests from pages of {origin} are not answered.")
        site = request.headers.get("sec-fetch-site", "none")
        if site not in {"same-origin", "none"} and not is_link:
            return Refusal(403, "Requests from pages of other sites are not answered.")
        return None

    def _refuse_token(self, given: str) -> Refusal | None:
        if not given:
            return Refusal(401, "The address lacks its token: open the whole address that the operator printed.")
        if not secrets.compare_digest(given.encode(errors="replace"), self.token.encode()):
            return Refusal(401, "The token is wrong: it changes with every start, so open the address of this run.")
        return None


def new_token() -> str:
    """Return a random token of 192 bits."""
    return secrets.token_urlsafe(24)


def view_url(server: str, token: str) -> str:
    """Return the address that a person opens; the token is in the fragment, which browsers never send anywhere."""
    return f"{server.rstrip('/')}/#token={token}"


def _bearer(request: Request) -> str:
    value = request.headers.get("authorization", "")
    return value[len(_BEARER) :].strip() if value.startswith(_BEARER) else ""


def _query_token(request: Request) -> str:
    return parse_qs(request.target.partition("?")[2]).get("token", [""])[0]


def _without_port(host: str) -> str:
    """Return the name of a ``Host`` header; an IPv6 address keeps its brackets."""
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port.isdecimal() else host.lower()
