"""Record how a real kube-apiserver treats webhooks, policies and conversion: ``tests/golden/admission.jsonl.xz``.

Run it as ``python -m tools.control_plane run -- python -m tools.record_admission``. Each sequence has names of its own,
so that they need only one server. The webhooks are those of ``tests.contract.hooks``, on a port of this machine.
"""

import base64
import http.client
import json
import lzma
import os
import ssl
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from steersman.clock import RealClock
from steersman.json_types import JsonObject
from steersman.serving.certificates import CertificateAuthority
from tests.contract import hooks
from tools.admission_sequences import SEQUENCES

TARGET = Path(__file__).parent.parent / "tests" / "golden" / "admission.jsonl.xz"
#: Seconds until the server uses a configuration; policies are compiled first.
_SETTLE = {
    "webhookconfigurations": 1.0,
    "admissionpolic": 3.0,
    "customresourcedefinitions": 2.0,
    "namespaces": 0.3,
    "wait=yes": 1.0,
}


class Hooks:
    """The webhooks on a port, and the requests that they received."""

    def __init__(self, folder: Path) -> None:
        authority = CertificateAuthority.create("hooks", clock=RealClock())
        pair = authority.issue_server(["127.0.0.1", "localhost"])
        (folder / "hook.crt").write_bytes(pair.certificate)
        (folder / "hook.key").write_bytes(pair.key)
        self.reviews: list[JsonObject] = []
        reviews = self.reviews

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                reviews.append({"path": self.path, "review": json.loads(body)})
                try:
                    status, answer = hooks.answer(self.path, body)
                except hooks.Hang:
                    time.sleep(3)  # noqa: TID251 - a tool that waits for real servers
                    return
                self.send_response(status)
                if status == 302:  # noqa: PLR2004 - a redirect
                    self.send_header("location", "/allow")
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "hook.crt", folder / "hook.key")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.address = f"https://127.0.0.1:{self.server.server_port}"
        self.authority = base64.b64encode(authority.certificate).decode()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def real(self, text: str) -> str:
        """Replace the placeholder with the real address."""
        return text.replace(hooks.ADDRESS, self.address).replace(hooks.AUTHORITY, self.authority)

    def recorded(self, text: str) -> str:
        """Replace the real address with the placeholder."""
        port = str(self.server.server_port)
        return text.replace(self.address, hooks.ADDRESS).replace(self.authority, hooks.AUTHORITY).replace(port, "9443")


class Recorder:
    """Runs sequences on the server of ``KUBECONFIG``."""

    def __init__(self, hook: Hooks) -> None:
        config = yaml.safe_load(Path(os.environ["KUBECONFIG"]).read_text())
        cluster = config["clusters"][0]["cluster"]
        self._host = urlsplit(cluster["server"])
        self._context = ssl.create_default_context(cafile=cluster["certificate-authority"])
        self._token = config["users"][0]["user"]["token"]
        self._hook = hook

    def play(self, step: JsonObject, before: list[JsonObject]) -> JsonObject:
        """Send one request; return the step with its response. ``uses`` maps values from earlier responses."""
        step = json.loads(json.dumps(step))
        for place, source in (step.get("uses") or {}).items():
            index, _, path = source.partition(":")
            value: Any = before[int(index)]["response"]
            for part in path.strip("/").split("/"):
                value = value.get(part, "") if isinstance(value, dict) else ""
            if place.startswith("header:"):
                step["headers"][place.removeprefix("header:")] = f"Bearer {value}"
            else:
                step["body"]["spec"]["token"] = value
        headers = {
            "Authorization": f"Bearer {self._token}",
            "User-Agent": "gold/1.0",
            "Accept": "application/json",
            **({"Content-Type": "application/json"} if "body" in step else {}),
            **(step.get("headers") or {}),
        }
        body = self._hook.real(json.dumps(step["body"])) if "body" in step else None
        self._hook.reviews.clear()
        connection = http.client.HTTPSConnection(
            self._host.hostname or "", self._host.port, context=self._context, timeout=40
        )
        connection.request(step["method"], step["path"], body, headers)
        response = connection.getresponse()
        text = self._hook.recorded(response.read().decode())
        made = {
            **step,
            "status": response.status,
            "warnings": [value for key, value in response.getheaders() if key.lower() == "warning"],
            "response": _parsed(text),
            "reviews": json.loads(self._hook.recorded(json.dumps(self._hook.reviews))),
        }
        connection.close()
        ends = step["path"].rsplit("/", 1)[-1]
        if step["method"] in ("POST", "PUT", "PATCH", "DELETE") and response.status < 300:  # noqa: PLR2004 - done
            time.sleep(max((seconds for part, seconds in _SETTLE.items() if part in ends), default=0))  # noqa: TID251 - a tool that waits for real servers
        return made


def _parsed(text: str) -> Any:
    lines = [line for line in text.splitlines() if line.strip()]
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in lines]
    except ValueError:
        return text


def main() -> None:
    """Record all sequences."""
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(Hooks(Path(folder)))
        lines = []
        for sequence in SEQUENCES:
            steps: list[JsonObject] = []
            for step in sequence["steps"]:
                steps.append(recorder.play(step, steps))
            for step in sequence["cleanup"]:
                recorder.play(step, steps)
            made = {"name": sequence["name"], "about": sequence["about"], "steps": steps}
            lines.append(json.dumps(made))
            print(sequence["name"], [step["status"] for step in steps], flush=True)
        TARGET.write_bytes(lzma.compress("\n".join(lines).encode() + b"\n", preset=9))


if __name__ == "__main__":
    main()
