"""`make scaffold-check`: follow the guides as a new user does, on a machine that has nothing but Python and kubectl.

Builds the wheel, then types the commands of docs/first-operator.md and of a new project's README literally, downloads
included. `tests/guides` does the same without a network, and so without `pip install`.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tools.typed_guide import follow

ROOT: Final = Path(__file__).parents[1]
#: Prefixes of variables that configure package downloads.
_NETWORK: Final = ("PIP_", "SSL_", "HTTP", "http", "NO_PROXY", "no_proxy")
#: Commands of a README that need the reader's cluster or registry.
NEEDS_CLUSTER: Final = re.compile(r"make (install|docker-build)|steer samples")
#: Steps of projects.md after the README: manifests that are up to date, and a second version of the kind.
_MORE: Final = """
```console
$ . .venv/bin/activate
$ steer manifests
$ make check
$ steer create api --group shop --version v1alpha1 --kind Website
$ sed -i.before 's|"shop.example.com/v1",|"shop.example.com/v1", storage=True,|' fleet/api/website_v1.py
$ steer create webhook --kind Website --version v1 --validate --default
$ steer create webhook --kind Website --convert
$ ruff format -q fleet/api/website_v1.py
$ steer manifests
$ make check test
```
"""


def build_wheel(place: Path) -> Path:
    """Build the wheel of this checkout and return its path."""
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(place), "."]
    subprocess.run(command, check=True, cwd=ROOT)  # noqa: S603 - our own interpreter
    (wheel,) = place.glob("steersman-*.whl")
    return wheel


def bare_environment(place: Path, wheel: Path) -> dict[str, str]:
    """Return the variables of a user whose shell finds Python, kubectl and the system's programs, and nothing else."""
    programs = place / "bin"
    programs.mkdir()
    (programs / "python3").symlink_to(Path(sys.executable).resolve())
    (programs / "kubectl").symlink_to(Path(sys.executable).with_name("kubectl"))
    # `pip install steersman` installs this checkout.
    constraints = place / "constraints.txt"
    constraints.write_text(f"steersman @ {wheel.as_uri()}\n", encoding="utf-8")
    return {
        **{name: value for name, value in os.environ.items() if name.startswith(_NETWORK)},
        "PATH": os.pathsep.join([str(programs), "/usr/bin", "/bin"]),
        "HOME": str(place),
        "LANG": "C.UTF-8",
        "PIP_CONSTRAINT": str(constraints),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }


def main() -> None:
    """Follow the guides in a folder that is deleted afterwards."""
    with tempfile.TemporaryDirectory(prefix="steersman-scaffold-") as folder:
        place = Path(folder)
        environment = bare_environment(place, build_wheel(place))
        first, project = place / "first", place / "fleet"
        first.mkdir()
        project.mkdir()
        follow((ROOT / "docs/first-operator.md").read_text(encoding="utf-8"), first, environment)
        begin = f". {first}/.venv/bin/activate && steer init fleet --domain example.com"
        follow(f"```console\n$ {begin}\n```\n", project, environment)
        readme = (project / "README.md").read_text(encoding="utf-8")
        follow(readme, project, environment, is_typed=lambda command: NEEDS_CLUSTER.match(command) is None)
        follow(_MORE, project, environment)
    print("the guides work as written, and a new project passes its own checks")


if __name__ == "__main__":
    main()
