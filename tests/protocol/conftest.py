"""The recordings that the protocol is compared with."""

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

_GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture(scope="session")
def exchanges() -> list[dict[str, Any]]:
    """Return single requests to a real API server with their answers, in order."""
    with lzma.open(_GOLDEN / "requests.jsonl.xz", "rt") as lines:
        return [json.loads(line) for line in lines]
