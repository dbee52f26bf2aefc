"""Which proxy the environment asks for: ``HTTPS_PROXY``, ``HTTP_PROXY`` and ``NO_PROXY``, as Go programs read them."""

import ipaddress
from collections.abc import Mapping

from steersman.transport.endpoint import Endpoint, Proxy


def proxy_from_environment(endpoint: Endpoint, environ: Mapping[str, str]) -> Proxy | None:
    """Return the proxy for a server, or ``None`` to connect directly, as always to this machine."""
    name = "HTTPS_PROXY" if endpoint.is_tls else "HTTP_PROXY"
    url = environ.get(name) or environ.get(name.lower())
    if not url or endpoint.host == "localhost" or _is_loopback(endpoint.host):
        return None
    exceptions = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
    if any(_matches(entry.strip().lower(), endpoint) for entry in exceptions.split(",")):
        return None
    return Proxy.parse(url)


def _is_loopback(host: str) -> bool:
    address = _address(host)
    return address is not None and address.is_loopback


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _matches(entry: str, endpoint: Endpoint) -> bool:
    """Return whether an entry of ``NO_PROXY`` matches the server: ``*``, an address, a network, a domain."""
    if not entry:
        return False
    if entry == "*":
        return True
    address = _address(endpoint.host)
    if address is not None:
        return _matches_address(entry, address, endpoint.port)
    domain, _, port = entry.partition(":")
    if port and port != str(endpoint.port):
        return False
    domain = domain.removeprefix("*")
    if domain.startswith("."):
        return endpoint.host.endswith(domain)
    return endpoint.host == domain or endpoint.host.endswith(f".{domain}")


def _matches_address(entry: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address, port: int) -> bool:
    if entry in (f"{address}:{port}", f"[{address}]:{port}"):
        return True
    try:
        return address in ipaddress.ip_network(entry.strip("[]"), strict=False)
    except ValueError:
        return False
