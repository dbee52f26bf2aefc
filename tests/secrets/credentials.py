"""Every place of a kubeconfig and its environment that contains a secret, planted and used, valid and invalid."""

import base64
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from steersman.clock import RealClock
from steersman.errors import SteersmanError
from steersman.objects.codec import encode_json
from steersman.protocol.http import Request
from steersman.transport.auth.kubeconfig import Kubeconfig
from steersman.transport.config import ClusterConfig
from steersman.transport.endpoint import Endpoint
from steersman.transport.http.proxies import proxy_from_environment
from steersman.transport.http.transport import HttpTransport
from tests.secrets.canaries import Canaries

Document = dict[str, Any]
_PLUGIN = """#!{python}
import sys
sys.stderr.write({stderr!r})
sys.stdout.write({stdout!r})
sys.exit({code})
"""


def _kubeconfig(user: Document, cluster: Document) -> str:
    cluster = {"server": "https://127.0.0.1:1", **cluster}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "clusters": [{"name": "a", "cluster": cluster}],
        "users": [{"name": "a", "user": user}],
    }
    return encode_json(document).decode()


def _plugin(folder: Path, name: str, *, stdout: str = "", stderr: str = "", code: int = 0) -> Document:
    path = folder / name
    path.write_text(_PLUGIN.format(python=sys.executable, stdout=stdout, stderr=stderr, code=code))
    path.chmod(0o700)
    return {"command": str(path), "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}


def _issued(status: Document) -> str:
    credential = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
    return encode_json(credential).decode()


def _coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _users(canaries: Canaries, folder: Path) -> Iterator[tuple[Document, Document]]:
    """Yield the content of kubeconfigs: user and cluster."""
    plant = canaries.plant
    token_file, key_file = folder / "token", folder / "key.pem"
    token_file.write_text(plant("token file"))
    key_file.write_text(plant("client key file"))
    yield {"token": plant("token")}, {}
    yield {"tokenFile": str(token_file)}, {}
    yield {"username": "me", "password": plant("password")}, {}
    yield {"client-certificate-data": _coded("x"), "client-key-data": _coded(plant("client key data"))}, {}
    yield {"client-certificate": str(key_file), "client-key": str(key_file)}, {}
    yield {"client-certificate-data": "!", "client-key-data": plant("client key that is no base64")}, {}
    yield {"token": plant("token beside a proxy")}, {"proxy-url": f"http://me:{plant('proxy password')}@127.0.0.1:1"}
    yield {}, {"proxy-url": f"ftp://me:{plant('password of a proxy of another kind')}@127.0.0.1:1"}
    yield {}, {"server": f"https://me:{plant('password in the server URL')}@127.0.0.1:1"}
    yield {}, {"server": f"https://me:{plant('password in a URL that is none')}@127.0.0.1:port"}
    yield {}, {"server": f"https://127.0.0.1:1/?token={plant('token in the query of the URL')}"}
    yield {"token": [plant("token of a wrong type")]}, {}
    yield {"password": {"a": plant("password of a wrong type")}}, {}
    yield {"auth-provider": {"name": "oidc", "config": {"id-token": plant("token of an auth provider")}}}, {}


def _plugins(canaries: Canaries, folder: Path) -> Iterator[tuple[Document, Document]]:
    plant = canaries.plant
    good = _plugin(folder, "good", stdout=_issued({"token": plant("token of a plugin")}))
    yield {"exec": {**good, "args": [f"--secret={plant('argument of a plugin')}"]}}, {}
    yield {"exec": {**good, "env": [{"name": "SECRET", "value": plant("environment of a plugin")}]}}, {}
    key = {"clientCertificateData": "x", "clientKeyData": plant("client key of a plugin")}
    yield {"exec": _plugin(folder, "key", stdout=_issued(key))}, {}
    yield {"exec": _plugin(folder, "noise", stdout=f"token: {plant('output of a plugin that is no credential')}")}, {}
    half = _issued({"token": plant("token that a plugin gave wrongly"), "expirationTimestamp": "soon"})
    yield {"exec": _plugin(folder, "half", stdout=half)}, {}
    failing = _plugin(folder, "failing", stderr=f"no: {plant('complaint of a plugin')}", stdout="x", code=3)
    yield {"exec": failing}, {}
    yield {"exec": {**good, "command": f"/nowhere/{folder.name}", "env": [{"name": "A", "value": "b"}]}}, {}


def _broken_files(canaries: Canaries) -> Iterator[str]:
    """Yield files that cannot be parsed, with a secret next to the mistake."""
    plant = canaries.plant
    yield f"users:\n- name: a\n  user:\n    token: {plant('token beside a YAML error')}\n   bad indentation: [\n"
    yield f'{{"users": [{{"name": "a", "user": {{"token": "{plant("token in half a JSON document")}"}}'
    yield f"token: {plant('token that is there twice')}\ntoken: {plant('token that is there twice')}\n"
    yield f"users: {plant('token in place of users')}\n"
    yield f"&a {plant('token behind an anchor')}: *a\n"
    yield f"apiVersion: v1\nkind: Config\nusers: [{{name: a, user: {plant('token in place of a user')}}}]\n"


def kubeconfigs(canaries: Canaries, folder: Path) -> Iterator[str]:
    """Yield every kubeconfig as text, the valid ones first."""
    for user, cluster in [*_users(canaries, folder), *_plugins(canaries, folder)]:
        yield _kubeconfig(user, cluster)
    yield from _broken_files(canaries)


async def use_credentials(canaries: Canaries, folder: Path) -> None:
    """Read every kubeconfig, print the result, and send a request with it."""
    path = folder / "config"
    used: list[Any] = []
    for text in kubeconfigs(canaries, folder):
        path.write_text(text)
        await _use(canaries, path, used)
    for scheme in ("http", "gopher"):
        url = f"{scheme}://me:{canaries.plant(f'password of the {scheme} proxy of the environment')}@far.test:1"
        try:
            used.append(proxy_from_environment(Endpoint.parse("https://further.test"), {"HTTPS_PROXY": url}))
        except SteersmanError as error:
            canaries.see_failure("the failure of a proxy", error)
    canaries.see_reprs()


async def _use(canaries: Canaries, path: Path, used: list[Any]) -> None:
    try:
        kubeconfig = Kubeconfig.load(path)
        canaries.see("a kubeconfig", repr(kubeconfig) + str(kubeconfig))
        config = ClusterConfig.from_kubeconfig(path)
        canaries.see("a configuration", repr(config) + str(config))
        transport = HttpTransport(config, clock=RealClock())
        try:
            canaries.see("a transport", repr(transport) + repr(transport.__dict__))
            await transport.request(Request("GET", "/version"), timeout=5.0)
        finally:
            canaries.see("a transport that was used", repr(transport) + repr(transport.__dict__))
            used += [kubeconfig, config, transport]
            await transport.close()
    except SteersmanError as error:
        canaries.see_failure("the failure of credentials", error)
