"""What random operations on a real kube-apiserver once showed to be different, each story as short as it can be."""

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from tests.contract.recordings import Sequence, builtin_step
from tests.contract.replay import Replay

FIXTURES = Path(__file__).parent / "fixtures"


def _stories() -> list[tuple[str, dict[str, Any]]]:
    found = []
    for path in sorted(FIXTURES.glob("*.jsonl.xz")):
        for line in lzma.decompress(path.read_bytes()).decode().splitlines():
            story = json.loads(line)
            found.append((f"{path.name.partition('.')[0]}: {story['name']}", story))
    return found


STORIES = _stories()


@pytest.mark.parametrize("story", [story for _, story in STORIES], ids=[name for name, _ in STORIES])
async def test_story_goes_as_on_a_real_server(story: dict[str, Any]) -> None:
    """What differed once must not differ again, also where there is no real server to ask."""
    sequence = Sequence(name=story["name"], setup=[], steps=[builtin_step(step) for step in story["steps"]])
    assert await Replay(sequence).run() == {}
