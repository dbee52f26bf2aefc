"""From what a verb gives to the answer: JSON or YAML, whole objects, tables or metadata only, pretty or not."""

import gzip
import json
from collections.abc import Iterable, Sequence
from typing import Any

from steersman.apiserver.call import Answer, Call
from steersman.apiserver.ledger import Ledger
from steersman.apiserver.negotiation import YAML, Form, error_form, wants_pretty
from steersman.apiserver.reading import list_metadata
from steersman.apiserver.request_info import Query
from steersman.apiserver.served import Served
from steersman.apiserver.status import Refusal
from steersman.apiserver.storage.store import Page
from steersman.apiserver.table import Column, TableStyle, custom_columns, partial_metadata, table
from steersman.clock import Clock
from steersman.objects.codec import decode_json, encode_json
from steersman.protocol.http import Request, Response

Document = dict[str, Any]
_NO_CACHE = ("cache-control", "no-cache, private")
#: Smaller answers are not worth compressing.
_GZIP_FROM = 128 * 1024


#: Characters of all warnings of an answer, and of each once they are more: kube-apiserver's limits.
_WARNINGS_LIMIT, _WARNING_LIMIT = 4 * 1024, 256


def warning_headers(texts: Iterable[str]) -> list[tuple[str, str]]:
    """Write warnings for the client's user, each once; what exceeds the limits of a header is cut off."""
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


def write_document(document: Any, form: Form) -> bytes:
    """Write a document in the form that was asked for."""
    if form.media == YAML:
        from steersman.objects.yaml_writer import write_sorted_yaml  # noqa: PLC0415 - YAML answers are rare

        return write_sorted_yaml(document).encode()
    if form.pretty:
        return json.dumps(document, indent=2, ensure_ascii=False).translate(_HTML).encode()
    return encode_json(document) + b"\n"


_HTML = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def columns_of(served: Served) -> tuple[Column, ...]:
    """Give the columns of a resource's table."""
    if not served.builtin:
        return custom_columns(served.columns)
    from steersman.apiserver.tables.kinds import builtin_columns  # noqa: PLC0415 - only tables need it

    return builtin_columns(served.resource.gvk)


class Rendering:
    """Writes answers."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock

    def answer(self, call: Call, answer: Answer) -> Response:
        """Write the answer to a verb on one object."""
        form = self._form(call)
        if answer.is_object and form.transform:
            return self._respond(call, answer.code, self._one_transformed(call, answer, form), form)
        if form.media == YAML or form.pretty:
            document = decode_json(answer.raw) if answer.document is None else answer.document
            return self._respond(call, answer.code, write_document(document, form), form)
        raw = answer.raw if answer.document is None else encode_json(answer.document)
        return self._respond(call, answer.code, raw + b"\n", form)

    def _one_transformed(self, call: Call, answer: Answer, form: Form) -> bytes:
        obj = decode_json(answer.raw) if answer.document is None else answer.document
        if form.transform == "Table":
            metadata = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
            return write_document(table([obj], metadata, self.style(call, form), self._clock.now()), form)
        return write_document(partial_metadata(obj, form.version), form)

    def page(self, call: Call, page: Page, list_body: bytes | None) -> Response:
        """Write a list; ``list_body`` is the list as JSON, where that is wanted."""
        form = self._form(call)
        if not form.transform and list_body is not None:
            if form.media == YAML or form.pretty:
                list_body = write_document(decode_json(list_body), form)
            else:
                list_body += b"\n"
            return self._respond(call, 200, list_body, form)
        objects = [self._ledger.document(call.served, record) for record in page.records]
        if form.transform == "Table":
            document = table(objects, list_metadata(page), self.style(call, form), self._clock.now())
        else:
            document = {
                "kind": "PartialObjectMetadataList",
                "apiVersion": f"meta.k8s.io/{form.version}",
                "metadata": list_metadata(page),
                "items": [partial_metadata(obj, form.version) for obj in objects] or None,
            }
        return self._respond(call, 200, write_document(document, form), form)

    def style(self, call: Call, form: Form) -> TableStyle:
        """Give how tables of a request are written."""
        include = call.query.text("includeObject") or "Metadata"
        return TableStyle(columns_of(call.served), form.version, include)

    @staticmethod
    def _form(call: Call) -> Form:
        pretty = wants_pretty(call.query.text("pretty"), call.request.headers.get("user-agent", ""))
        if pretty is None or pretty == call.form.pretty:
            return call.form
        return Form(call.form.media, call.form.transform, call.form.version, pretty)

    @staticmethod
    def _respond(call: Call, code: int, body: bytes, form: Form) -> Response:
        headers = [("content-type", form.media), _NO_CACHE]
        if call.warnings or call.served.deprecation:
            headers += warning_headers([call.served.deprecation, *call.warnings])
        return compressed(call.request, Response(code, headers, body))


def compressed(request: Request, response: Response) -> Response:
    """Compress a large answer for a client that asked for it."""
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


def refusal_response(request: Request, query: Query, refusal: Refusal, warnings: Sequence[str] = ()) -> Response:
    """Write a failure as a Status."""
    form = error_form(request.headers.get("accept", ""))
    pretty = wants_pretty(query.text("pretty"), request.headers.get("user-agent", ""))
    if pretty is not None:
        form = Form(form.media, pretty=pretty)
    headers = [("content-type", form.media), _NO_CACHE, *refusal.headers]
    headers += warning_headers(warnings)
    return Response(refusal.code, headers, write_document(refusal.document(), form))


def document_response(request: Request, query: Query, document: Any, code: int = 200) -> Response:
    """Write a document that is no object: discovery, reviews, versions."""
    form = error_form(request.headers.get("accept", ""))
    pretty = wants_pretty(query.text("pretty"), request.headers.get("user-agent", ""))
    form = Form(form.media, pretty=bool(pretty))
    return Response(code, [("content-type", form.media), _NO_CACHE], write_document(document, form))


def text_response(code: int, text: str) -> Response:
    """Write plain text."""
    return Response(code, [("content-type", "text/plain; charset=utf-8"), _NO_CACHE], text.encode())


NOT_FOUND = Response(
    404,
    [("content-type", "text/plain; charset=utf-8"), _NO_CACHE, ("x-content-type-options", "nosniff")],
    b"404 page not found\n",
)
