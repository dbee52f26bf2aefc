"""Replays the READMEs of examples with the operators in this folder instead of ours: each does what its example does.

``python -m bench.kopf.replay [EXAMPLE…]``, without names all of them. Commands, API server and what must be seen are
those of the README; ``steer run`` is ``kopf run`` here. Needs kopf, the official client and kubectl.
"""

import asyncio
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import yaml

from steersman.errors import WaitTimeout
from steersman.testing.transcripts import console_blocks, replay
from tools.example_lines import EXAMPLES, KOPF, KOPF_PROGRAMS, with_one_version

_NEEDED = ("kopf", "kubernetes", "aiohttp")
_OPERATOR = re.compile(r"^\$ steer run\b.*&$", re.MULTILINE)
#: What kopf cannot do, and so is not typed: it has no webhooks for conversion.
_OTHER_VERSIONS = re.compile(r"^\$ .*\.v1beta1\..*\n(?:[^$].*\n)*", re.MULTILINE)
#: What only an operator does that installs its own definitions.
_NO_DEFINITIONS = re.compile(r"^\$ kubectl get crd\nNo resources found\n", re.MULTILINE)


def with_kopf(readme: str, operator: Path) -> str:
    """Give the commands of a README with a kopf operator and the official client in the place of ours."""
    commands = with_operator(readme, f"kopf run --all-namespaces --standalone {operator}")
    return re.sub(r"python -m (\w+)\.client", rf"python {KOPF}/\1_client.py", commands)


def with_operator(readme: str, command: str) -> str:
    """Give the commands of a README with another command that starts the operator."""
    commands = _NO_DEFINITIONS.sub("", _OTHER_VERSIONS.sub("", "".join(console_blocks(readme))))
    ours = _OPERATOR.search(commands)
    if ours is None:
        raise ValueError("the README starts no operator with `steer run … &`")
    theirs = f"$ {command} &"
    if "--install-crds" in ours[0]:
        theirs = f"$ kubectl create -f manifests/crds\n…\n{theirs}"
    return commands.replace(ours[0], theirs)


def write_definitions(folder: Path) -> None:
    """Write the example's definitions as kopf can serve them."""
    steer = Path(sys.executable).with_name("steer")
    subprocess.run([steer, "manifests"], cwd=folder, check=True, capture_output=True)  # noqa: S603 - ourselves
    for path in (folder / "manifests" / "crds").glob("*.yaml"):
        definition = with_one_version(yaml.safe_load(path.read_text(encoding="utf-8")))
        path.write_text(yaml.safe_dump(definition), encoding="utf-8")


async def replayed(example: str) -> None:
    """Replay one; ``WaitTimeout`` tells what is not as told."""
    with tempfile.TemporaryDirectory() as directory:
        folder = shutil.copytree(EXAMPLES / example, Path(directory) / example)
        commands = with_kopf(
            (folder / "README.md").read_text(encoding="utf-8"), KOPF / f"{KOPF_PROGRAMS[example][0]}.py"
        )
        if "$ steer manifests" not in commands:
            write_definitions(folder)
        await replay(commands, folder=folder)


async def main(names: list[str]) -> int:
    """Replay each; answer whether all of them were as told."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        print(f"not replayed: {', '.join(missing)} cannot be imported; `make bench` installs what is needed")
        return 0
    failed = 0
    for name in names or list(KOPF_PROGRAMS):
        try:
            await replayed(name)
        except WaitTimeout as error:
            failed = 1
            print(f"{name}: {error}", flush=True)
        else:
            print(f"{name}: as told", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
