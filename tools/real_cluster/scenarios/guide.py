"""The guide "From laptop to cluster", typed as it stands."""

import os
import re
from pathlib import Path
from typing import Final

from tools.real_cluster.scenarios.user import ScenarioError, User
from tools.typed_guide import follow

_GUIDE: Final = Path(__file__).parents[3] / "docs" / "laptop-to-cluster.md"
#: There is no network: the base is here already.
_NEEDS_NETWORK: Final = re.compile(r"skopeo ")


def run(user: User) -> None:
    """Type the commands of the guide in an empty folder, beside which the base image is."""
    (user.folder / "python").symlink_to(user.images / "python")
    environment = {**os.environ, "HOME": str(user.folder)}
    page = _GUIDE.read_text(encoding="utf-8")
    try:
        follow(
            page,
            user.folder,
            environment,
            is_typed=lambda text: not _NEEDS_NETWORK.match(text),
            on_done=lambda command, seconds: user.done(f"`{command}`", seconds),
        )
    except AssertionError as error:
        raise ScenarioError(f"{error}\n{user.situation()}") from error
