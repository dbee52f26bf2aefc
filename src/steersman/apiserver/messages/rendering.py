"""From the result of a verb to the response: JSON or YAML; whole objects, tables or metadata only; pretty or not."""

import gzip
import json
from collections.abc import Iterable

from steersman.apiserver.messages.api_request import ApiRequest, ApiResponse
from steersman.apiserver.messages.info import Query
from steersman.apiserver.messages.negotiation import YAML, Form, error_form, wants_pretty
from steersman.apiserver.messages.table import TableStyle, partial_metadata, table
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.status import Refusal
from steersman.apiserver.storage.store import Page
from steersman.clock import Clock
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json, encode_json
from steersman.protocol.http import Request, Response

_NO_CACHE = ("cache-control", "no-cache, private")
#: Bytes from which on a response is compressed.
_GZIP_FROM = 128 * 1024


#: kube-apiserver's limits: characters of all warnings of a response, and of each of them beyond that.
_WARNINGS_LIMIT, _WARNING_LIMIT = 4 * 1024, 256


def warning_headers(texts: Iterable[str]) -> list[tuple[str, str]]:
    """Return ``Warning`` headers, each text once, cut off at the limits of the headers."""
    told = [text for text in dict.fromkeys(texts) if text]
    total = 0
    for count, text in enumerate(told, 1):
        total += len(text)
        if total > _WARNINGS_LIMIT:
            told = _shortened(told, count)
            break
    return [_warning_header(text) for text in told]


def _shortened(texts: list[str], count: int) -> list[str]:
    """Shorten the first ``count`` texts, and as many of the others as there is room for."""
    kept, total = [], 0
    for index, text in enumerate(texts):
        if index >= count and total >= _WARNINGS_LIMIT:
            break
        kept.append(text[:_WARNING_LIMIT])
        total += len(kept[-1])
    return kept


def _warning_header(text: str) -> tuple[str, str]:
    clean = "".join(char for char in text if char >= " " and char != "\x7f")
    quoted = clean.replace("\\", "\\\\").replace('"', '\\"')
    return "warning", f'299 - "{quoted}"'


def write_document(document: object, form: Form) -> bytes:
    """Encode a document in the requested form."""
    if form.media == YAML:
        from steersman.golang.yaml_writer import write_sorted_yaml  # noqa: PLC0415 - YAML answers are rare

        return write_sorted_yaml(document).encode()
    if form.pretty:
        return json.dumps(document, indent=2, ensure_ascii=False).translate(_HTML).encode()
    return encode_json(document) + b"\n"


_HTML = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def list_metadata(page: Page) -> JsonObject:
    """Return the metadata of a list."""
    made: JsonObject = {"resourceVersion": page.resource_version}
    if page.continue_token:
        made["continue"] = page.continue_token
    if page.remaining is not None:
        made["remainingItemCount"] = page.remaining
    return made


class Rendering:
    """Creates responses."""

    def __init__(self, objects: ObjectStore, clock: Clock) -> None:
        self._objects = objects
        self._clock = clock

    def answer(self, request: ApiRequest, answer: ApiResponse) -> Response:
        """Return the response of a verb on one object."""
        form = self._form(request)
        if answer.is_object and form.transform:
            body = self._one_transformed(request, answer, form)
        elif form.media == YAML or form.pretty:
            body = write_document(decode_json(answer.raw) if answer.document is None else answer.document, form)
        else:
            body = (answer.raw if answer.document is None else encode_json(answer.document)) + b"\n"
        return self._respond(request, answer.code, body, form, answer.warnings)

    def _one_transformed(self, request: ApiRequest, answer: ApiResponse, form: Form) -> bytes:
        obj = decode_json(answer.raw) if answer.document is None else answer.document
        if form.transform == "Table":
            metadata = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
            return write_document(table([obj], metadata, self.style(request, form), self._clock.now()), form)
        return write_document(partial_metadata(obj, form.version), form)

    def page(
        self, request: ApiRequest, page: Page, list_body: bytes | None, warnings: tuple[str, ...] = ()
    ) -> Response:
        """Return the response with a list; ``list_body`` is the list as JSON, where that is wanted."""
        form = self._form(request)
        if not form.transform and list_body is not None:
            if form.media == YAML or form.pretty:
                list_body = write_document(decode_json(list_body), form)
            else:
                list_body += b"\n"
            return self._respond(request, 200, list_body, form, warnings)
        objects = [self._objects.document(request.served, record) for record in page.records]
        if form.transform == "Table":
            document = table(objects, list_metadata(page), self.style(request, form), self._clock.now())
        else:
            document = {
                "kind": "PartialObjectMetadataList",
                "apiVersion": f"meta.k8s.io/{form.version}",
                "metadata": list_metadata(page),
                "items": [partial_metadata(obj, form.version) for obj in objects] or None,
            }
        return self._respond(request, 200, write_document(document, form), form, warnings)

    def style(self, request: ApiRequest, form: Form) -> TableStyle:
        """Return the columns and the options of the tables of a request."""
        include = request.query.text("includeObject") or "Metadata"
        return TableStyle(request.served.strategy.columns(), form.version, include)

    @staticmethod
    def _form(request: ApiRequest) -> Form:
        pretty = wants_pretty(request.query.text("pretty"), request.http.headers.get("user-agent", ""))
        if pretty is None or pretty == request.form.pretty:
            return request.form
        return Form(request.form.media, request.form.transform, request.form.version, pretty)

    @staticmethod
    def _respond(request: ApiRequest, code: int, body: bytes, form: Form, warnings: tuple[str, ...]) -> Response:
        headers = [("content-type", form.media), _NO_CACHE]
        deprecation = request.served.deprecation
        if warnings or deprecation:
            headers += warning_headers([deprecation, *warnings])
        return compressed(request.http, Response(code, headers, body))


def compressed(request: Request, response: Response) -> Response:
    """Compress a large response for a client that accepts gzip."""
    if len(response.body) < _GZIP_FROM or not _accepts_gzip(request.headers.get("accept-encoding", "")):
        return response
    headers = [*response.headers, ("content-encoding", "gzip"), ("vary", "Accept-Encoding")]
    return Response(response.status, headers, gzip.compress(response.body, compresslevel=1, mtime=0))


def _accepts_gzip(header: str) -> bool:
    for part in header.split(","):
        name, _, parameters = part.partition(";")
        if name.strip() == "gzip":
            return parameters.replace(" ", "") not in ("q=0", "q=0.0")
    return False


def refusal_response(request: Request, query: Query, refusal: Refusal, deprecation: str = "") -> Response:
    """Return a failure as a Status, with the warnings that were given before it."""
    form = error_form(request.headers.get("accept", ""))
    pretty = wants_pretty(query.text("pretty"), request.headers.get("user-agent", ""))
    if pretty is not None:
        form = Form(form.media, pretty=pretty)
    headers = [("content-type", form.media), _NO_CACHE, *refusal.headers]
    headers += warning_headers([deprecation, *refusal.warnings])
    return Response(refusal.code, headers, write_document(refusal.document(), form))


def document_response(request: Request, query: Query, document: object, code: int = 200) -> Response:
    """Return the response with a document that is not an object: discovery, versions."""
    form = error_form(request.headers.get("accept", ""))
    pretty = wants_pretty(query.text("pretty"), request.headers.get("user-agent", ""))
    form = Form(form.media, pretty=bool(pretty))
    return Response(code, [("content-type", form.media), _NO_CACHE], write_document(document, form))


def text_response(code: int, text: str) -> Response:
    """Return a response of plain text."""
    return Response(code, [("content-type", "text/plain; charset=utf-8"), _NO_CACHE], text.encode())


NOT_FOUND = Response(
    404,
    [("content-type", "text/plain; charset=utf-8"), _NO_CACHE, ("x-content-type-options", "nosniff")],
    b"404 page not found\n",
)
