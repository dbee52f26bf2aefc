"""An operator whose end a test decides: at a write to the API server, or at a command that changes Redis."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from steersman import Operator
from steersman.testing import Fuse, Moment

from redisfailover.connection import Connection
from redisfailover.observation import Address
from redisfailover.operator import redis_operator
from redisfailover.redis_servers import RedisServers
from redisfailover.servers import Snapshot, Terms

_READS = frozenset({"INFO", "CONFIG GET", "ACL GETUSER", "SENTINEL MASTER"})
#: Commands that are told with what they set.
_SETTING = {"CONFIG SET": 1, "SENTINEL SET": 2}


def mortal_operator(backups: Path) -> Callable[[Fuse], Operator]:
    """Give what makes an operator for each instance."""
    return lambda fuse: redis_operator(MortalServers(fuse), backups=backups)


class MortalServers(RedisServers):
    """Servers that hear of an operator only what its fuse lets pass; files of backups are writes too."""

    def __init__(self, fuse: Fuse) -> None:
        """Stand behind the fuse of one instance."""
        super().__init__(_connection(fuse))
        self._fuse = fuse

    async def save(self, source: Address, target: Path, terms: Terms) -> Snapshot:
        """Write the data of a server to a file."""
        return await self._fuse.carry_out(
            "write a backup", lambda: super(MortalServers, self).save(source, target, terms)
        )


def _connection(fuse: Fuse) -> type[Connection]:
    class MortalConnection(Connection):
        """A connection behind a fuse."""

        async def execute_command(self, *args: Any, **options: Any) -> Any:
            """Let reads pass; a change counts as a write, and may be the last one."""
            ask = super().execute_command
            name = str(args[0])
            if name in _READS:
                return await ask(*args, **options)
            told = " ".join([name, *args[_SETTING[name] :][:1]]) if name in _SETTING else name
            return await fuse.carry_out(told, lambda: ask(*args, **options))

    return MortalConnection


class SomeWriteLater:
    """When to end an operator: right after that many writes, counted from when it is asked to count."""

    moment: Moment = "after"

    def __init__(self, number: int) -> None:
        """Do not count yet."""
        self._number = number
        self._begin: int | None = None

    def count_from(self, fuse: Fuse) -> None:
        """Begin to count: what was written until now does not."""
        self._begin = len(fuse.writes)

    def comes(self, writes: Sequence[str]) -> bool:
        """Tell whether that many were made since."""
        return self._begin is not None and len(writes) - self._begin == self._number
