"""What a container's processes see: which programs they may be, their variables, their directories. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from steersman.kinds.core_v1 import Container
from steersman.localcluster.process_node.containers.expansion import expand
from steersman.localcluster.process_node.containers.images import Image
from steersman.localcluster.process_node.containers.problem import ProgramError
from steersman.localcluster.process_node.files.mounts import Mounts
from steersman.localcluster.process_node.processes.spawning import Program


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerContext:
    """The surroundings of one container, the same for its command, its probes, its hooks and `kubectl exec`."""

    container: Container
    image: Image
    #: Variables that every process of this machine has.
    base: Mapping[str, str]
    #: The variables that the container declares, including secrets; paths below mounts are not replaced yet.
    variables: Mapping[str, str] = field(repr=False)
    mounts: Mounts
    #: The working directory by default.
    home: Path

    def command(self) -> Program:
        """Return what the container runs: its own command, else that of its image, and its arguments."""
        arguments = self._handed_over(self.container.args or ())
        if self.container.command:
            return self._program(
                [self.container.command[0], *self._handed_over(self.container.command[1:]), *arguments]
            )
        if not self.image.command:
            raise ProgramError(f'image "{self.image.pattern}" has no command: set command in the pod, or in the image')
        first, *rest = self.image.command
        return self._program([first.rpartition("/")[2], *rest, *arguments])

    def program(self, command: Sequence[str]) -> Program:
        """Return something else that is run inside, by a probe, a hook or a person."""
        if not command:
            raise ProgramError("a command must be named")
        return self._program([command[0], *self._handed_over(command[1:])])

    def _program(self, arguments: Sequence[str]) -> Program:
        name = expand(arguments[0], self.variables)
        variables = {key: self.mounts.rewrite(value) for key, value in self.variables.items()}
        return Program(
            arguments=[self.image.program(name), *arguments[1:]],
            environment={**self.base, **variables},
            directory=self._directory(),
        )

    def _handed_over(self, arguments: Sequence[str]) -> list[str]:
        return [self.mounts.rewrite(expand(argument, self.variables)) for argument in arguments]

    def _directory(self) -> Path:
        wanted = self.container.working_dir
        place = None if not wanted else self.mounts.place_of(wanted)
        return self.home if place is None or not Path(place).is_dir() else Path(place)
