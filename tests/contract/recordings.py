"""The answers of a real kube-apiserver v1.36.4, as sequences of steps in one format, whatever file they come from."""

import base64
import json
import lzma
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

GOLDEN = Path(__file__).parent.parent / "golden"


@dataclass(slots=True)
class Step:
    """One recorded request and its answer."""

    case: str
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    status: int
    #: ``None`` if the recording does not contain it.
    warnings: list[str] | None
    #: Parsed JSON, or text; ``None`` if the recording does not contain it.
    response: Any
    uses: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    #: The body as a document, where ``uses`` changes it.
    document: Any = None
    is_watch: bool = False
    during: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    #: The text of the answer, where its exact bytes matter.
    raw: str | None = None
    #: Polled until the answer has this content; needs controllers.
    eventually: bool = False
    anonymous: bool = False
    #: Places that differ between two runs of the real server.
    varies: tuple[str, ...] = ()


@dataclass(slots=True)
class Sequence:
    """A recorded sequence of requests to a fresh server."""

    name: str
    setup: list[Step]
    steps: list[Step]
    one_second: bool = False
    needs_controllers: bool = False


def read_lines(name: str) -> list[Any]:
    """Read a recording."""
    data = lzma.decompress((GOLDEN / f"{name}.jsonl.xz").read_bytes())
    return [json.loads(line) for line in data.decode().splitlines()]


def expanded(value: Any) -> Any:
    """Expand long runs of characters, which recordings abbreviate."""
    if isinstance(value, dict):
        if set(value) == {"$repeat"}:
            return value["$repeat"][0] * value["$repeat"][1]
        if set(value) == {"$concat"}:
            return "".join(expanded(part) for part in value["$concat"])
        return {key: expanded(part) for key, part in value.items()}
    if isinstance(value, list):
        return [expanded(part) for part in value]
    return value


def _patch_step(step: dict[str, Any]) -> Step:
    body = step.get("body")
    if repeat := step.get("body_repeat"):
        body = [repeat["item"]] * repeat["count"]
    document = body if isinstance(body, (dict, list)) else None
    data = b"" if body is None else body.encode() if isinstance(body, str) else json.dumps(body).encode()
    headers = {name.lower(): value for name, value in (step.get("headers") or {}).items()}
    return Step(
        case=step.get("case") or "",
        method=step["method"],
        path=step["path"],
        headers=headers,
        body=data,
        status=step["status"],
        warnings=step.get("warnings") or [] if "warnings" in step else None,
        response=step.get("response"),
        uses=step.get("uses") or {},
        delay=step.get("delay") or 0.0,
        varies=tuple(step.get("varies") or ()),
        document=document,
    )


@cache
def patch_sequences(name: str) -> tuple[Sequence, ...]:
    """Return the sequences of a file under ``patch/``."""
    return tuple(
        Sequence(
            name=entry["name"],
            setup=[_patch_step(step) for step in entry.get("setup") or ()],
            steps=[_patch_step(step) for step in entry["steps"]],
            one_second=bool(entry.get("one_second")),
        )
        for entry in read_lines(f"patch/{name}")
    )


def _builtin_headers(step: dict[str, Any], *, has_body: bool) -> dict[str, str]:
    headers: dict[str, str] = {"user-agent": "gold/1.0", "accept": "application/json"}
    if has_body:
        headers["content-type"] = "application/json"
    if step.get("auth") != "none":
        headers["authorization"] = "Bearer admin-token"
    for name, value in (step.get("headers") or {}).items():
        if value is None:
            headers.pop(name.lower(), None)
        else:
            headers[name.lower()] = ", ".join(value) if isinstance(value, list) else value
    return headers


def builtin_step(step: dict[str, Any]) -> Step:
    """Parse a step in the format of the files under ``builtin/``."""
    """Give a step of the form that is used under ``builtin/`` and in fixtures."""
    document = expanded(step.get("body"))
    if "bodyRaw" in step:
        data = expanded(step["bodyRaw"]).encode("utf-8", "surrogatepass")
    elif "bodyBase64" in step:
        data = base64.b64decode(step["bodyBase64"])
    else:
        data = b"" if document is None else json.dumps(document).encode()
    headers = _builtin_headers(step, has_body=bool(data) or "body" in step)
    warnings = step.get("warnings")
    return Step(
        case=step.get("case") or "",
        method=step["method"],
        path=step["path"],
        headers=headers,
        body=data,
        status=step["status"],
        warnings=None if warnings is None else list(warnings),
        response=expanded(step.get("response")),
        uses=step.get("uses") or {},
        document=document if isinstance(document, (dict, list)) else None,
        is_watch=bool(step.get("watch")),
        during=step.get("during") or [],
        seconds=step.get("seconds") or 0.0,
        raw=step.get("responseRaw"),
        eventually=bool(step.get("eventually")),
        anonymous=step.get("auth") == "none",
    )


@cache
def builtin_sequences(name: str) -> tuple[Sequence, ...]:
    """Return the sequences of a file under ``builtin/``."""
    return tuple(
        Sequence(
            name=entry["name"],
            setup=[builtin_step(step) for step in entry.get("setup") or ()],
            steps=[builtin_step(step) for step in entry["steps"]],
            needs_controllers="controllers" in (entry.get("needs") or ()),
        )
        for entry in read_lines(f"builtin/{name}")
    )


def during_steps(step: Step) -> Iterator[Step]:
    """Yield the writes that were made while a watch was open."""
    for write in step.during:
        yield builtin_step({"status": 0, **write})


def _definition_step() -> Step:
    """Return the step that creates the CRD of the single requests."""
    crd = yaml.safe_load((GOLDEN / "widgets-crd.yaml").read_text())
    headers = {"content-type": "application/json", "authorization": "Bearer admin-token"}
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    return Step("definition", "POST", path, headers, json.dumps(crd).encode(), 201, None, None)


def _json_or_text(text: str) -> Any:
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and all(line.startswith('{"type"') for line in lines):
        return [json.loads(line) for line in lines]
    try:
        return json.loads(text)
    except ValueError:
        return text


#: Bodies that the recording describes instead of containing them.
_DESCRIBED = {"big": 1_100_000, "biger": 4_000_000}


def _single_step(entry: dict[str, Any]) -> Step:
    headers = {name.lower(): value for name, value in entry["headers"].items()}
    case = entry.get("case") or ""
    body = (entry["body"] or "").encode()
    if case in _DESCRIBED:
        body = json.dumps({"metadata": {"name": "big"}, "data": {"a": "x" * _DESCRIBED[case]}}).encode()
    is_known = entry["token"] and case not in ("bob", "bob res", "bad token")
    headers["authorization"] = "Bearer admin-token" if is_known else "Bearer nobody"
    is_watch = "watch=1" in entry["path"] and entry["status"] == 200
    response = _json_or_text(entry["response"])
    return Step(
        case=case,
        method=entry["method"],
        path=entry["path"],
        headers=headers,
        body=body,
        status=entry["status"],
        warnings=entry["warnings"] or [],
        response=([response] if isinstance(response, dict) else response or []) if is_watch else response,
        is_watch=is_watch,
        seconds=1.0,
        anonymous=case == "anon",
    )


@cache
def single_requests() -> Sequence:
    """Return the single requests on widgets as one sequence."""
    steps = [_single_step(entry) for entry in read_lines("requests")]
    return Sequence("requests", [_definition_step()], steps)


def _kubectl_step(entry: dict[str, Any]) -> Step:
    headers = {name.lower(): value for name, value in entry["request_headers"].items()}
    headers["user-agent"] = "kubectl/v1.37.1 (linux/amd64) kubernetes/0000000"
    body = base64.b64decode(entry["request_base64"]) if "request_base64" in entry else entry.get("request", "").encode()
    response = entry.get("response")
    is_watch = "watch=true" in entry["path"] and entry["status"] == 200
    known = None if response in (None, "<left out>") else _json_or_text(response)
    return Step(
        case=entry["label"],
        method=entry["method"],
        # Hashes of documents differ between servers.
        path=re.sub(r"hash=[0-9A-F]+&?", "", entry["path"]),
        headers=headers,
        body=body,
        status=0 if entry["status"] == 304 else entry["status"],
        warnings=None,
        response=None if is_watch else known,
        is_watch=is_watch,
        seconds=1.0,
    )


@cache
def kubectl_requests() -> Sequence:
    """Return the requests of kubectl and their answers, as one sequence."""
    return Sequence("kubectl", [], [_kubectl_step(entry) for entry in read_lines("kubectl")])
