"""Pushing and pulling an image over the registry's HTTP API: content that is there already is not sent again."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlencode, urljoin, urlsplit

from steersman.clock import Clock
from steersman.errors import ConfigError, RegistryError
from steersman.json_types import JsonObject
from steersman.protocol.http import Request, Response
from steersman.scaffold.image.layer import digest_of
from steersman.scaffold.image.layout import INDEX, INDEXES, MANIFEST, MANIFESTS, Layout, json_bytes
from steersman.scaffold.image.reference import Reference
from steersman.transport.auth.secret import Secret
from steersman.transport.config import Anonymous, Authentication, ClusterConfig, Token
from steersman.transport.http.transport import HttpTransport

_OK, _CREATED, _ACCEPTED, _UNAUTHORIZED, _MISSING = 200, 201, 202, 401, 404
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
#: Redirects of one download that are followed.
_HOPS: Final = 3
#: Seconds that one upload or download may take.
_PATIENCE: Final = 1800.0
_PARAMETER: Final = re.compile(r'([a-z]+)="([^"]*)"')


@dataclass(frozen=True, slots=True)
class _Login:
    """The header of each request, and the credentials if a token must be fetched first."""

    now: Authentication
    kept: Authentication


class Registry:
    """One repository of a registry."""

    def __init__(self, reference: Reference, login: Authentication, *, clock: Clock, plain: bool = False) -> None:
        self._reference = reference
        self._clock = clock
        self._server = reference.server(plain=plain)
        self._login = _Login(Anonymous(), login)

    async def push(self, layout: Layout, tell: Callable[[str], None]) -> str:
        """Push the only image of a layout under the reference's tag, then what is attached to it; return its digest."""
        image = layout.only()
        await self._push_manifest(layout, image, self._reference.tag, tell)
        for attachment in layout.attachments():
            answer = await self._push_manifest(layout, attachment, attachment["digest"], tell)
            if not answer.header("oci-subject"):
                await self._list_referrer(image, attachment)
        return str(image["digest"])

    async def _push_manifest(
        self, layout: Layout, descriptor: JsonObject, name: str, tell: Callable[[str], None]
    ) -> Response:
        data = layout.blob(descriptor["digest"])
        manifest = json.loads(data)
        for blob in (*manifest["layers"], manifest["config"]):
            await self._push_blob(layout.blob(blob["digest"]), tell)
        answer = await self._put_manifest(name, descriptor["mediaType"], data)
        if answer.header("docker-content-digest", descriptor["digest"]) != descriptor["digest"]:
            raise RegistryError(f"{self._reference}: the registry keeps something else than what was sent")
        return answer

    async def _put_manifest(self, name: str, kind: str, data: bytes) -> Response:
        path = f"/v2/{self._reference.repository}/manifests/{quote(name, safe=':')}"
        answer = await self._send(Request("PUT", path, {"content-type": kind}, data))
        self._expect(answer, _CREATED)
        return answer

    async def _list_referrer(self, image: JsonObject, attachment: JsonObject) -> None:
        """List an attachment where clients look for it in registries that do not know referrers: in an index by tag."""
        tag = str(image["digest"]).replace(":", "-")
        path = f"/v2/{self._reference.repository}/manifests/{tag}"
        answer = await self._send(Request("GET", path, {"accept": INDEX}))
        if answer.status != _MISSING:
            self._expect(answer, _OK)
        others = _document(answer).get("manifests") or [] if answer.status == _OK else []
        kept = [one for one in others if one.get("digest") != attachment["digest"]]
        index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [*kept, attachment]}
        await self._put_manifest(tag, INDEX, json_bytes(index))

    async def pull(self, layout: Layout, platform: str) -> None:
        """Write the image for a platform into an empty layout; whatever is read is checked against its digest."""
        data = await self._manifest(self._reference.tag)
        document = _parsed(data)
        if document.get("mediaType") in INDEXES or "manifests" in document:
            data = await self._manifest(self._chosen(document, platform))
            document = _parsed(data)
        if "config" not in document or "layers" not in document:
            raise RegistryError(f"{self._reference} is not an image")
        for blob in (document["config"], *document["layers"]):
            self._keep(layout, await self._blob(blob["digest"]), blob["digest"])
        descriptor = {"mediaType": MANIFEST, "digest": layout.put(data), "size": len(data)}
        layout.finish(descriptor, self._reference.tag)

    def _chosen(self, index: JsonObject, platform: str) -> str:
        for one in index.get("manifests") or ():
            named = one.get("platform") or {}
            if f"{named.get('os')}/{named.get('architecture')}" == platform:
                return str(one["digest"])
        raise RegistryError(f"{self._reference} has no image for {platform}")

    async def _manifest(self, name: str) -> bytes:
        path = f"/v2/{self._reference.repository}/manifests/{quote(name, safe=':')}"
        answer = await self._send(Request("GET", path, {"accept": ", ".join((*MANIFESTS, *INDEXES))}))
        self._expect(answer, _OK)
        if ":" in name and digest_of(answer.body) != name:
            raise RegistryError(f"{self._reference}: the registry answers with something else than {name}")
        return answer.body

    async def _blob(self, digest: str) -> bytes:
        """Read content; registries often keep it on another server, which gets no credentials."""
        answer = await self._send(Request("GET", f"/v2/{self._reference.repository}/blobs/{quote(digest, safe=':')}"))
        for _ in range(_HOPS):
            if answer.status not in _REDIRECTS:
                break
            place = urlsplit(urljoin(f"{self._server}/", answer.header("location")))
            if place.scheme != "https" and f"{place.scheme}://{place.netloc}" != self._server:
                raise RegistryError(
                    f"{self._reference}: content is at {place.netloc} without TLS: that is not followed"
                )
            target = f"{place.path}?{place.query}" if place.query else place.path
            answer = await self._once(f"{place.scheme}://{place.netloc}", Request("GET", target), Anonymous())
        self._expect(answer, _OK)
        return answer.body

    def _keep(self, layout: Layout, data: bytes, digest: str) -> None:
        if digest_of(data) != digest:
            raise RegistryError(f"{self._reference}: the registry answers with something else than {digest}")
        layout.put(data)

    async def _push_blob(self, data: bytes, tell: Callable[[str], None]) -> None:
        digest = digest_of(data)
        base = f"/v2/{self._reference.repository}/blobs"
        there = await self._send(Request("HEAD", f"{base}/{digest}"))
        if there.status == _OK:
            tell(f"{digest[:19]} is there")
            return
        if there.status != _MISSING:
            self._expect(there, _OK)
        begun = await self._send(Request("POST", f"{base}/uploads/"))
        self._expect(begun, _ACCEPTED)
        place = urlsplit(urljoin(f"{self._server}/", begun.header("location")))
        if f"{place.scheme}://{place.netloc}" != self._server:
            raise RegistryError(
                f"{self._reference}: uploads go to {place.netloc}, another server: that is not followed"
            )
        query = f"{place.query}&" if place.query else ""
        target = f"{place.path}?{query}{urlencode({'digest': digest})}"
        headers = {"content-type": "application/octet-stream"}
        self._expect(await self._send(Request("PUT", target, headers, data)), _CREATED)
        tell(f"{digest[:19]} pushed, {len(data):,} bytes")

    async def _send(self, request: Request) -> Response:
        """Send a request; if the registry asks for authentication, log in and send again."""
        answer = await self._once(self._server, request, self._login.now)
        if answer.status != _UNAUTHORIZED:
            return answer
        challenge = answer.header("www-authenticate")
        scheme, _, rest = challenge.partition(" ")
        if scheme.lower() == "bearer":
            now: Authentication = Token(await self._token(dict(_PARAMETER.findall(rest))))
        else:
            now = self._login.kept
        if isinstance(now, Anonymous):
            raise RegistryError(f"{self._reference}: the registry wants a login: run 'docker login' or 'podman login'")
        self._login = _Login(now, self._login.kept)
        return await self._once(self._server, request, now)

    async def _token(self, challenge: dict[str, str]) -> Secret:
        realm = urlsplit(challenge.get("realm", ""))
        if not realm.scheme or not realm.netloc:
            raise RegistryError(f"{self._reference}: the registry does not name its token server")
        scope = challenge.get("scope") or f"repository:{self._reference.repository}:pull,push"
        query = urlencode({"service": challenge.get("service", ""), "scope": scope})
        request = Request("GET", f"{realm.path or '/'}?{query}", {"accept": "application/json"})
        answer = await self._once(f"{realm.scheme}://{realm.netloc}", request, self._login.kept)
        self._expect(answer, _OK)
        found = _document(answer)
        token = found.get("token") or found.get("access_token")
        if not isinstance(token, str):
            raise RegistryError(f"{self._reference}: {realm.netloc} gave no token")
        return Secret(token)

    async def _once(self, server: str, request: Request, login: Authentication) -> Response:
        try:
            config = ClusterConfig(server=server, authentication=login)
        except ConfigError as error:
            raise RegistryError(f"{self._reference}: {error}") from None
        transport = HttpTransport(config, clock=self._clock)
        try:
            return await transport.request(request, timeout=_PATIENCE)
        finally:
            await transport.close()

    def _expect(self, answer: Response, status: int) -> None:
        if answer.status == status:
            return
        errors = _document(answer).get("errors")
        words = [str(error.get("message")) for error in errors if isinstance(error, dict)] if errors else []
        raise RegistryError(f"{self._reference}: the registry answers {answer.status} {'; '.join(words)}".rstrip())


def _document(answer: Response) -> JsonObject:
    return _parsed(answer.body or b"{}")


def _parsed(data: bytes) -> JsonObject:
    try:
        found = json.loads(data)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
