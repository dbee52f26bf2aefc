"""Paths that are no resources: discovery, OpenAPI, health, version."""

import json
from collections.abc import Callable

from steersman.apiserver.access.service_account_tokens import ISSUER, ServiceAccountTokens
from steersman.apiserver.http.discovery import AGGREGATED, Discovery, wants_aggregated
from steersman.apiserver.http.metrics import MEDIA
from steersman.apiserver.http.openapi import OpenApi
from steersman.apiserver.http.openapi_v2 import OpenApiV2
from steersman.apiserver.messages.info import Query
from steersman.apiserver.messages.negotiation import accept_clauses
from steersman.apiserver.messages.rendering import NOT_FOUND, compressed, document_response, text_response
from steersman.apiserver.resources.catalog import Catalog
from steersman.apiserver.status import method_not_allowed, no_such_resource, not_acceptable
from steersman.objects.codec import encode_json
from steersman.protocol.http import Request, Response

_READS = ("GET", "HEAD")
_NO_CACHE = ("cache-control", "no-cache, private")
_MEDIA = (
    "only the following media types are accepted: application/json, application/yaml, "
    "application/vnd.kubernetes.protobuf"
)
VERSION = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.4",
    "gitCommit": "",
    "gitTreeState": "",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "steersman",
    "platform": "python",
}
_CHECKS = ("ping", "log", "storage", "informer-sync", "poststarthook/bootstrap")


class Endpoints:
    """Answers everything that is no resource."""

    def __init__(
        self, catalog: Catalog, openapi: OpenApi, tokens: ServiceAccountTokens, metrics: Callable[[], str]
    ) -> None:
        self._catalog = catalog
        self._tokens = tokens
        self._discovery = Discovery(catalog)
        self._openapi = openapi
        swagger = OpenApiV2(openapi)
        self._fixed: dict[str, Callable[[Request, Query], Response]] = {
            "/version": self._version,
            "/api": self._api,
            "/apis": self._apis,
            "/openapi/v2": lambda request, _: swagger.response(request),
            "/openapi/v3": self._openapi_index,
            "/metrics": lambda _, __: Response(200, [("content-type", MEDIA), _NO_CACHE], metrics().encode()),
            "/": self._root,
            "/.well-known/openid-configuration": self._issuer,
            "/openid/v1/jwks": self._keys,
        }

    def answer(self, request: Request, path: str, query: Query) -> Response:
        """Answer a request, or say that there is no such page."""
        bare = path.rstrip("/") or "/"
        fixed = self._fixed.get(bare if path != "/openapi/v3/" else "")
        if fixed is not None:
            return fixed(request, query)
        if path.startswith(("/healthz", "/livez", "/readyz")):
            return self._health(path, query)
        if path.startswith("/openapi/v3/"):
            return self._openapi_document(request, path.removeprefix("/openapi/v3/"), query)
        if path.startswith(("/api/", "/apis/")):
            return self._group_document(request, query, path.strip("/").split("/"))
        return NOT_FOUND

    def _issuer(self, request: Request, query: Query) -> Response:
        """Return the issuer of service-account tokens, for clients that verify them."""
        del query
        document = {
            "issuer": ISSUER,
            "jwks_uri": f"https://{request.headers.get('host', '127.0.0.1')}/openid/v1/jwks",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        }
        headers = [("content-type", "application/json"), ("cache-control", "public, max-age=3600")]
        return Response(200, headers, encode_json(document))

    def _keys(self, request: Request, query: Query) -> Response:
        """Return the public key of service-account tokens."""
        del query
        known = ("application/jwk-set+json", "*/*")
        if not any(clause.media in known for clause in accept_clauses(request.headers.get("accept", ""))):
            text = "406: Not Acceptable\n\nAvailable representations: application/jwk-set+json"
            raise not_acceptable(text, with_details=True)
        headers = [("content-type", "application/jwk-set+json"), ("cache-control", "public, max-age=3600")]
        return Response(200, headers, encode_json(self._tokens.keys()))

    def _version(self, request: Request, query: Query) -> Response:
        if request.method != "GET":
            raise method_not_allowed()
        known = ("application/json", "*/*", "application/vnd.kubernetes.protobuf")
        if not any(clause.media in known for clause in accept_clauses(request.headers.get("accept", ""))):
            raise not_acceptable(
                "406: Not Acceptable\n\nAvailable representations: application/json", with_details=True
            )
        del query
        body = json.dumps(VERSION, indent=2).encode()
        return Response(200, [("content-type", "application/json"), _NO_CACHE], body)

    def _root(self, request: Request, query: Query) -> Response:
        paths = ["/api", "/api/v1", "/apis", "/apis/"]
        for group in sorted(name for name in self._catalog.groups() if name):
            paths.append(f"/apis/{group}")
            paths += [f"/apis/{group}/{version}" for version in sorted(self._catalog.versions(group))]
        paths += ["/healthz", "/livez", "/metrics", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/readyz", "/version"]
        return document_response(request, Query({"pretty": ["true"], **query.values}), {"paths": paths})

    def _api(self, request: Request, query: Query) -> Response:
        if request.method not in _READS:
            raise method_not_allowed()
        address = request.headers.get("host", "127.0.0.1")
        return self._either(request, core=True) or document_response(
            request, query, self._discovery.api_versions(address)
        )

    def _apis(self, request: Request, query: Query) -> Response:
        return self._either(request, core=False) or document_response(request, query, self._discovery.group_list())

    def _either(self, request: Request, *, core: bool) -> Response | None:
        """Answer in the aggregated form if it is wanted."""
        wanted = wants_aggregated(request.headers.get("accept", ""))
        if wanted is None:
            raise not_acceptable(_MEDIA)
        if not wanted:
            return None
        body, tag = self._discovery.aggregated(core=core)
        headers = [("etag", tag), ("cache-control", "public"), ("vary", "Accept")]
        if request.headers.get("if-none-match") == tag:
            return Response(304, headers)
        return compressed(request, Response(200, [("content-type", AGGREGATED), *headers], body + b"\n"))

    def _group_document(self, request: Request, query: Query, parts: list[str]) -> Response:
        if parts[0] == "api":
            if len(parts) == 2 and self._catalog.has_version("", parts[1]):  # noqa: PLR2004 - api/version
                if request.method not in _READS:
                    raise method_not_allowed()
                return document_response(request, query, self._discovery.resource_list("", parts[1]))
            raise no_such_resource()
        if not self._catalog.has_group(parts[1]):
            return NOT_FOUND
        if len(parts) == 2:  # noqa: PLR2004 - apis/group
            return document_response(request, query, self._discovery.group(parts[1]))
        if self._catalog.has_version(parts[1], parts[2]):
            return document_response(request, query, self._discovery.resource_list(parts[1], parts[2]))
        return NOT_FOUND

    @staticmethod
    def _health(path: str, query: Query) -> Response:
        _, endpoint, *rest = path.rstrip("/").split("/", 2)
        if endpoint not in ("healthz", "livez", "readyz"):
            return NOT_FOUND
        if rest:
            return text_response(200, "ok") if rest[0] in _CHECKS or rest[0] == "etcd" else NOT_FOUND
        if "verbose" not in query:
            return text_response(200, "ok")
        excluded = set(query.values.get("exclude", ()))
        lines = [f"[+]{name} excluded: ok" if name in excluded else f"[+]{name} ok" for name in _CHECKS]
        return text_response(200, "\n".join([*lines, f"{endpoint} check passed", ""]))

    def _openapi_index(self, request: Request, query: Query) -> Response:
        del request, query
        return Response(200, [("content-type", "text/plain; charset=utf-8"), _NO_CACHE], self._openapi.index())

    def _openapi_document(self, request: Request, path: str, query: Query) -> Response:
        found = self._openapi.document(path)
        if found is None:
            return Response(404, [_NO_CACHE])
        body, digest = found
        tag = f'"{digest}"'
        asked = query.text("hash")
        if asked and asked != digest:
            location = f"/openapi/v3/{path}?hash={digest}"
            return Response(301, [("location", location), ("etag", tag), ("vary", "Accept"), _NO_CACHE])
        cache = ("cache-control", "public, immutable") if asked else _NO_CACHE
        headers = [("content-type", "application/json"), ("etag", tag), ("vary", "Accept"), cache]
        if request.headers.get("if-none-match") == tag:
            return Response(304, headers)
        return compressed(request, Response(200, headers, body))
