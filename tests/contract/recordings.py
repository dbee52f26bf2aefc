"""What a real kube-apiserver v1.36.4 answered, as sequences of steps in one form, whatever file they come from."""

import base64
import json
import lzma
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

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
    #: ``None`` when the recording does not say.
    warnings: list[str] | None
    #: Parsed JSON, or text; ``None`` when the recording does not say.
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
    #: Polled until it looks like this: needs controllers.
    eventually: bool = False
    anonymous: bool = False


@dataclass(slots=True)
class Sequence:
    """A recorded story on a server of its own."""

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
    """Write out long runs of characters, which recordings abbreviate."""
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
        document=document,
    )


@cache
def patch_sequences(name: str) -> tuple[Sequence, ...]:
    """Give the sequences of a file under ``patch/``."""
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


def _builtin_step(step: dict[str, Any]) -> Step:
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
    """Give the sequences of a file under ``builtin/``."""
    return tuple(
        Sequence(
            name=entry["name"],
            setup=[_builtin_step(step) for step in entry.get("setup") or ()],
            steps=[_builtin_step(step) for step in entry["steps"]],
            needs_controllers="controllers" in (entry.get("needs") or ()),
        )
        for entry in read_lines(f"builtin/{name}")
    )


def during_steps(step: Step) -> Iterator[Step]:
    """Give the writes that were made while a watch was open."""
    for write in step.during:
        yield _builtin_step({"status": 0, **write})
