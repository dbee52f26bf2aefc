"""`Load`: calls an API server over and over from threads of its own, and counts answers that were not as expected."""

import http.client
import json
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

from steersman.json_types import JsonObject
from tools.real_cluster.services import SERVER

_PAUSE: Final = 0.01
_GOOD: Final = (200, 201)


@dataclass(slots=True)
class CallResults:
    """Results of one kind of call."""

    calls: int = 0
    failures: list[str] = field(default_factory=list)
    slowest: float = 0.0


#: The method, the path and the body of the call with a number.
Call = Callable[[int], tuple[str, str, JsonObject | None]]


class Load:
    """Calls for as long as a block lasts."""

    def __init__(self, kubeconfig: Path, calls: dict[str, Call]) -> None:
        pki = kubeconfig.parent / "pki"
        self._context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        self._context.load_cert_chain(str(pki / "admin.crt"), str(pki / "admin.key"))
        self._stop = threading.Event()
        self.results = {name: CallResults() for name in calls}
        self._threads = [
            threading.Thread(target=self._call, args=(call, self.results[name]), daemon=True)
            for name, call in calls.items()
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _call(self, call: Call, result: CallResults) -> None:
        connection = self._connection()
        while not self._stop.wait(_PAUSE):
            result.calls += 1
            begun = time.monotonic()
            try:
                method, path, body = call(result.calls)
                text = None if body is None else json.dumps(body)
                connection.request(method, path, text, {"content-type": "application/json"})
                answer = connection.getresponse()
                content = answer.read()
            except (OSError, http.client.HTTPException) as error:
                result.failures.append(f"{error!r}")
                connection = self._connection()
            else:
                if answer.status not in _GOOD:
                    result.failures.append(content.decode(errors="replace")[:500])
            result.slowest = max(result.slowest, time.monotonic() - begun)

    def _connection(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(urlsplit(SERVER).netloc, context=self._context, timeout=30)
