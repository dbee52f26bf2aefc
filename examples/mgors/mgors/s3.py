"""A client for storage that is compatible with S3: put, get, list and delete objects, with signed requests.

Only what backups need, without a dependency: path-style addresses, signatures of version 4, and uploads in parts for
large files. Every upload is signed with the SHA-256 of its content, so the server rejects one that was damaged on the
way. Calls block; run them in a thread.
"""

import hashlib
import hmac
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import unescape
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from steersman import SteersmanError

#: Bytes of one part of a large upload; at most 10,000 parts are allowed.
PART = 64 * 2**20
#: Bytes that are read at once.
_BLOCK = 2**20
#: Seconds without any response.
_TIMEOUT = 60.0
_NOTHING = hashlib.sha256(b"").hexdigest()
_NOT_FOUND = 404


class S3Error(SteersmanError):
    """A request to the storage failed. ``is_final`` shows that a retry would fail, too."""

    def __init__(self, message: str, *, is_final: bool = False) -> None:
        """Create the error."""
        super().__init__(message)
        self.is_final = is_final


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """A bucket, and how to access it."""

    #: Address of the server: ``https://s3.eu-central-1.amazonaws.com``.
    endpoint: str
    name: str
    access_key: str
    secret_key: str = field(repr=False)
    region: str = "us-east-1"
    part: int = PART

    def put(self, key: str, file: Path) -> None:
        """Upload a file. An object becomes visible when it is complete."""
        size = file.stat().st_size
        if size <= self.part:
            data = file.read_bytes()
            self._send("PUT", key, body=data)
            return
        [upload] = _values(self._send("POST", key, {"uploads": ""}), "UploadId")
        parts = []
        for number, data in enumerate(_blocks(file, self.part), start=1):
            answer = self._request("PUT", key, {"partNumber": str(number), "uploadId": upload}, data)
            parts.append((number, answer.headers.get("ETag", "")))
        listed = "".join(f"<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag></Part>" for number, tag in parts)
        body = f"<CompleteMultipartUpload>{listed}</CompleteMultipartUpload>".encode()
        self._send("POST", key, {"uploadId": upload}, body)

    def get(self, key: str, file: Path) -> None:
        """Download an object into a file, which appears when it is complete."""
        partial = file.with_name(f"{file.name}.partial")
        connection = self._connection()
        try:
            answer = self._answer(connection, "GET", key, {}, b"")
            with partial.open("wb") as out:
                while block := answer.read(_BLOCK):
                    out.write(block)
        except (OSError, HTTPException) as error:
            raise S3Error(f"GET {key}: {error}") from error
        finally:
            connection.close()
        partial.rename(file)

    def keys(self, prefix: str) -> list[str]:
        """Return the keys that start with a prefix."""
        found: list[str] = []
        query = {"list-type": "2", "prefix": prefix}
        while True:
            text = self._send("GET", "", query)
            found += _values(text, "Key")
            following = _values(text, "NextContinuationToken")
            if not following:
                return found
            query = {**query, "continuation-token": following[0]}

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects; missing ones are ignored."""
        for key in keys:
            self._send("DELETE", key)

    def _send(self, method: str, key: str, query: dict[str, str] | None = None, body: bytes = b"") -> str:
        return self._request(method, key, query or {}, body).text

    def _request(self, method: str, key: str, query: dict[str, str], body: bytes) -> "_Answer":
        connection = self._connection()
        try:
            answer = self._answer(connection, method, key, query, body)
            return _Answer(answer.read().decode(), dict(answer.headers))
        except (OSError, HTTPException) as error:
            raise S3Error(f"{method} {key}: {error or type(error).__name__}") from error
        finally:
            connection.close()

    def _connection(self) -> HTTPConnection:
        parts = urlsplit(self.endpoint)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        return kind(parts.hostname or "", parts.port, timeout=_TIMEOUT)

    def _answer(
        self, connection: HTTPConnection, method: str, key: str, query: dict[str, str], body: bytes
    ) -> HTTPResponse:
        path = quote(f"/{self.name}/{key}" if key else f"/{self.name}")
        digest = hashlib.sha256(body).hexdigest() if body else _NOTHING
        headers = self.signed(method, path, query, digest, datetime.now(UTC))
        connection.request(method, f"{path}?{_encoded(query)}" if query else path, body or None, headers)
        answer = connection.getresponse()
        if answer.status >= 300 and not (method == "DELETE" and answer.status == _NOT_FOUND):
            code = ", ".join(_values(answer.read().decode(errors="replace"), "Code")) or answer.reason
            is_final = 400 <= answer.status < 500 and answer.status != 429
            raise S3Error(f"{method} {path}: {answer.status} {code}", is_final=is_final)
        return answer

    def signed(self, method: str, path: str, query: dict[str, str], digest: str, now: datetime) -> dict[str, str]:
        """Return the headers of a request with its signature, version 4."""
        parts = urlsplit(self.endpoint)
        headers = {"host": parts.netloc, "x-amz-content-sha256": digest, "x-amz-date": f"{now:%Y%m%dT%H%M%SZ}"}
        names = ";".join(sorted(headers))
        lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
        canonical = f"{method}\n{path}\n{_encoded(query)}\n{lines}\n{names}\n{digest}"
        scope = f"{now:%Y%m%d}/{self.region}/s3/aws4_request"
        hashed = hashlib.sha256(canonical.encode()).hexdigest()
        text = f"AWS4-HMAC-SHA256\n{headers['x-amz-date']}\n{scope}\n{hashed}"
        key = f"AWS4{self.secret_key}".encode()
        for step in scope.split("/"):
            key = hmac.digest(key, step.encode(), "sha256")
        signature = hmac.digest(key, text.encode(), "sha256").hex()
        credential = f"Credential={self.access_key}/{scope}"
        value = f"AWS4-HMAC-SHA256 {credential},SignedHeaders={names},Signature={signature}"
        return {**headers, "authorization": value}


@dataclass(frozen=True, slots=True)
class _Answer:
    text: str
    headers: dict[str, Any]


def _encoded(query: dict[str, str]) -> str:
    return "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in sorted(query.items()))


def _values(text: str, name: str) -> list[str]:
    """Return the contents of an XML element without children, in order."""
    return [unescape(found) for found in re.findall(f"<{name}>([^<]*)</{name}>", text)]


def _blocks(file: Path, size: int) -> Iterator[bytes]:
    with file.open("rb") as source:
        while block := source.read(size):
            yield block
