"""The commands of the README, run in a shell: `steer dev` runs a replica set of three on this machine."""

from pathlib import Path

from mongod_testbed import mongod
from steersman.testing import replay_readme


async def test_the_commands_of_the_readme_print_what_it_shows(tmp_path: Path) -> None:
    """Real kubectl, a real mongod, the operator in a process of its own."""
    mongod()
    await replay_readme(Path(__file__).parents[2], folder=tmp_path)
