"""The commands in the READMEs of the examples print what the READMEs show.

The database examples need their servers, so their tests are in their ``tests/databases`` folders.
"""

from pathlib import Path

import pytest

from steersman.testing import replay_readme
from tools.examples import EXAMPLES, examples

WITHOUT_DATABASES = [name for name in examples() if not (EXAMPLES / name / "tests" / "databases").exists()]


@pytest.mark.parametrize("example", WITHOUT_DATABASES)
async def test_the_commands_of_a_readme_print_what_it_shows(tmp_path: Path, example: str) -> None:
    """With real kubectl, a real server, and the operator and every other program in separate processes."""
    await replay_readme(EXAMPLES / example, folder=tmp_path)


def test_every_example_without_a_database_is_replayed() -> None:
    """The list above must not become empty unnoticed."""
    assert len(WITHOUT_DATABASES) == 6
