"""Access to the web view: the token, and requests that other web pages of the same browser send."""

import pytest

from steersman.errors import ConfigError
from steersman.testing.fake_clock import FakeClock
from steersman.webview.access import AccessRules, new_token, view_url
from tests.webview.asking import HOST, TOKEN, ask, error, request, view_of
from tests.webview.sample import SampleOperator

RULES = AccessRules(token=TOKEN)
DATA = ("/api/overview", "/api/objects", "/api/objects/Website/shop/web", "/api/queues", "/api/settings", "/api/stream")


def _view() -> SampleOperator:
    return SampleOperator(FakeClock())


@pytest.mark.parametrize("target", DATA)
def test_no_data_without_the_token(target: str) -> None:
    """Any program on the machine can connect to loopback; only the owner of the terminal has the token."""
    response = ask(view_of(_view()), target, authorization=None)
    assert (response.status, error(response)) == (
        401,
        "The address lacks its token: open the whole address that the operator printed.",
    )


@pytest.mark.parametrize("target", DATA)
@pytest.mark.parametrize("wrong", ["", "x", TOKEN[:-1], f"{TOKEN}x", TOKEN.upper(), "é" * 20, "\udcff" * 20])
def test_a_wrong_token_is_rejected(target: str, wrong: str) -> None:
    """Neither a prefix nor a longer text is the token, and no text is an internal error."""
    response = ask(view_of(_view()), target, authorization=f"Bearer {wrong}")
    assert response.status == 401
    assert error(response).startswith(("The token is wrong:", "The address lacks its token:"))


def test_a_script_may_pass_the_token_in_the_query() -> None:
    """For reading with curl; the page itself uses the header."""
    view = view_of(_view())
    assert ask(view, f"/api/overview?token={TOKEN}", authorization=None).status == 200
    assert ask(view, "/api/overview?token=wrong-and-long-enough", authorization=None).status == 401


def test_the_token_of_an_action_is_in_its_header_only() -> None:
    """A form or a link of another page can have a query, but no header."""
    assert RULES.refuse_action(request("/api/actions", method="POST")) is None
    in_query = request(f"/api/actions?token={TOKEN}", method="POST", authorization=None)
    refusal = RULES.refuse_action(in_query)
    assert refusal is not None
    assert refusal.status == 401


@pytest.mark.parametrize("host", ["127.0.0.1", HOST, "localhost:1", "LOCALHOST:8080", "[::1]:8080", "[::1]"])
def test_every_name_of_this_machine_is_served(host: str) -> None:
    """The port is not compared: a port-forward has another one."""
    assert RULES.refuse_data(request("/api/overview", host=host)) is None


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", "127.0.0.1:8080, evil.example", "", None, "::1"],
)
@pytest.mark.parametrize("target", ["/", "/static/app.js", "/api/overview"])
def test_a_name_that_was_pointed_at_this_machine_is_not_served(target: str, host: str | None) -> None:
    """DNS rebinding: the browser takes us for the attacker's server, but it sends the attacker's host name."""
    response = ask(view_of(_view()), target, host=host)
    assert response.status == 421
    assert error(response).endswith("open it as 127.0.0.1 or [::1] or localhost.")


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9", "http://127.0.0.1", ""])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_requests_of_other_pages_are_not_answered(method: str, origin: str) -> None:
    """Another port of this machine is another program."""
    response = ask(view_of(_view()), "/api/actions", method=method, origin=origin)
    assert (response.status, error(response)) == (403, f"Requests from pages of {origin} are not answered.")


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_other_pages_can_neither_read_nor_embed(site: str) -> None:
    """A script element of another page sends no Origin, but browsers mark it as cross-site."""
    view = view_of(_view())
    assert ask(view, "/api/overview", sec_fetch_site=site).status == 403
    assert ask(view, "/api/overview", sec_fetch_site=site, sec_fetch_mode="navigate").status == 403
    assert ask(view, "/static/app.js", sec_fetch_site=site, sec_fetch_mode="no-cors").status == 403
    assert ask(view, "/", sec_fetch_site=site, sec_fetch_mode="navigate").status == 200


def test_an_action_must_be_json() -> None:
    """A form can send text/plain without a preflight; JSON causes a preflight, which we never allow."""
    refusal = RULES.refuse_action(request("/api/actions", method="POST", content_type="text/plain"))
    assert refusal is not None
    assert (refusal.status, refusal.message) == (415, "An action is sent as application/json, not as text/plain.")
    assert RULES.refuse_action(request("/", method="POST", content_type="application/json; charset=utf-8")) is None


@pytest.mark.parametrize("target", ["/", "/static/app.js", "/nothing", "/api/overview", "/api/nothing"])
def test_every_answer_has_restrictive_headers(target: str) -> None:
    """Whatever is in a text of a cluster, it is not executed, framed, cached or interpreted as another type."""
    headers = dict(ask(view_of(_view()), target).headers)
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "access-control-allow-origin" not in headers


def test_a_token_that_could_be_guessed_is_rejected() -> None:
    """An empty token in a setting must not open the view to every user."""
    with pytest.raises(ConfigError, match="at least 16 characters"):
        AccessRules(token="")
    assert len(new_token()) >= 32
    assert new_token() != new_token()


def test_the_token_is_neither_in_a_log_nor_sent_by_the_browser() -> None:
    """The fragment of an address stays in the browser."""
    assert TOKEN not in repr(RULES)
    assert TOKEN not in repr(view_of(_view()))
    assert view_url("http://127.0.0.1:8080/", TOKEN) == f"http://127.0.0.1:8080/#token={TOKEN}"
