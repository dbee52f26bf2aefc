"""Probes: ``/healthz`` and ``/readyz``, each check by its name, and ``/metrics`` beside them."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from steersman.informer.informer import Informer
from steersman.protocol.http import Exchange, Request, Response

#: Returns why something is not healthy; empty if it is.
Check = Callable[[], str]

_PLAIN = [("content-type", "text/plain; charset=utf-8")]
_METRICS = [("content-type", "text/plain; version=0.0.4; charset=utf-8")]
#: Seconds without data from the server after which a cache counts as stale: the watch's idle limit, and a retry.
STALE_AFTER = 180.0


class Checks:
    """Named checks. All must pass; one can be requested alone, or excluded by ``?exclude=name``."""

    def __init__(self) -> None:
        self._checks: dict[str, Check] = {}

    def add(self, name: str, check: Check) -> None:
        """Add a check; it replaces one of the same name."""
        self._checks[name] = check

    def remove(self, name: str) -> None:
        """Remove a check, if there is one of that name."""
        self._checks.pop(name, None)

    def failing(self, *, exclude: Iterable[str] = ()) -> dict[str, str]:
        """Return the failing checks with their reasons."""
        excluded = set(exclude)
        reasons = {name: _result(check) for name, check in self._checks.items() if name not in excluded}
        return {name: reason for name, reason in reasons.items() if reason}

    def names(self) -> list[str]:
        """Return the names of all checks."""
        return list(self._checks)


def _result(check: Check) -> str:
    try:
        return check()
    except Exception as error:  # noqa: BLE001 - a check that raises is a check that fails
        return f"{type(error).__name__}: {error}"


def freshness_check(*informers: Informer[Any]) -> Check:
    """Return a check that the caches of a resource are in sync and have received data from the server lately."""
    return lambda: next(filter(None, map(_staleness, informers)), "")


def _staleness(informer: Informer[Any]) -> str:
    freshness = informer.freshness()
    if not freshness.is_synced:
        return freshness.reason
    if freshness.age is not None and freshness.age > STALE_AFTER:
        return f"no data from the server for {freshness.age:.0f} s; {freshness.reason}".rstrip("; ")
    return ""


class ProbeApp:
    """Answer probes and scrapes."""

    def __init__(self, health: Checks, ready: Checks, metrics: Callable[[], bytes]) -> None:
        self._probes: Mapping[str, Checks] = {"healthz": health, "readyz": ready, "livez": health}
        self._metrics = metrics

    def handle(self, request: Request, exchange: Exchange) -> None:
        """Answer one request."""
        exchange.respond(self._answer(request))

    def _answer(self, request: Request) -> Response:
        url = urlsplit(request.target)
        first, _, rest = url.path.strip("/").partition("/")
        if request.method not in {"GET", "HEAD"}:
            return Response(405, _PLAIN, b"method not allowed\n")
        if first == "metrics" and not rest:
            return Response(200, _METRICS, self._metrics())
        checks = self._probes.get(first)
        if checks is None or (rest and rest not in checks.names()):
            return Response(404, _PLAIN, b"not found\n")
        query = parse_qs(url.query, keep_blank_values=True)
        exclude = [*query.get("exclude", ()), *(name for name in checks.names() if rest and name != rest)]
        return _report(checks, exclude, verbose="verbose" in query)


def _report(checks: Checks, exclude: list[str], *, verbose: bool) -> Response:
    failing = checks.failing(exclude=exclude)
    status = 500 if failing else 200
    if not failing and not verbose:
        return Response(status, _PLAIN, b"ok")
    lines = [
        f"[-]{name} failed: {failing[name]}" if name in failing else f"[+]{name} ok"
        for name in checks.names()
        if name not in exclude
    ]
    result = "check failed" if failing else "check passed"
    return Response(status, _PLAIN, "\n".join([*lines, result, ""]).encode())
