"""Replay the READMEs of examples with the kopf operators in this folder, each of which does what its example does.

``python -m bench.kopf.replay [EXAMPLE…]``, without names all of them. Commands, API server and expected output are
those of the README; ``steer run`` becomes ``kopf run``. Needs kopf, the official client and kubectl.
"""

import asyncio
import re
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import yaml

from steersman.errors import WaitTimeout
from steersman.testing import replay_readme
from tools.example_lines import KOPF, KOPF_PROGRAMS, with_one_version
from tools.examples import EXAMPLES

_NEEDED = ("kopf", "kubernetes", "aiohttp")
_OPERATOR = re.compile(r"^\$ steer run\b.*&$", re.MULTILINE)
#: Commands that kopf cannot serve: it has no conversion webhooks.
_OTHER_VERSIONS = re.compile(r"^\$ .*\.v1beta1\..*\n(?:[^$].*\n)*", re.MULTILINE)
#: Output before an operator has installed its own CRDs.
_NO_DEFINITIONS = re.compile(r"^\$ kubectl get crd\nNo resources found\n", re.MULTILINE)


def with_kopf(transcript: str, example: str) -> str:
    """Return a transcript that runs the kopf operator of an example and the official client."""
    commands = with_operator(transcript, f"kopf run --all-namespaces --standalone {_operator(example)}")
    return re.sub(r"python -m (\w+)\.client", rf"python {KOPF}/\1_client.py", commands)


def with_operator(transcript: str, command: str) -> str:
    """Return a transcript that starts the operator with another command."""
    commands = _NO_DEFINITIONS.sub("", _OTHER_VERSIONS.sub("", transcript))
    ours = _OPERATOR.search(commands)
    if ours is None:
        raise ValueError("the README starts no operator with `steer run … &`")
    theirs = f"$ {command} &"
    if "--install-crds" in ours[0]:
        theirs = f"$ kubectl create -f manifests/crds\n…\n{theirs}"
    return commands.replace(ours[0], theirs)


def write_definitions(folder: Path) -> None:
    """Write the CRDs of the example in a folder, with the one version that kopf can serve."""
    steer = Path(sys.executable).with_name("steer")
    subprocess.run([steer, "manifests"], cwd=folder, check=True, capture_output=True)  # noqa: S603 - ourselves
    for path in (folder / "manifests" / "crds").glob("*.yaml"):
        definition = with_one_version(yaml.safe_load(path.read_text(encoding="utf-8")))
        path.write_text(yaml.safe_dump(definition), encoding="utf-8")


def _operator(example: str) -> Path:
    return KOPF / f"{KOPF_PROGRAMS[example][0]}.py"


async def replay_with_kopf(example: str) -> None:
    """Replay the README of an example; raise `WaitTimeout` with the first command whose output does not match."""
    with tempfile.TemporaryDirectory() as directory:

        def edit(transcript: str) -> str:
            commands = with_kopf(transcript, example)
            if "$ steer manifests" not in commands:
                write_definitions(Path(directory) / example)
            return commands

        await replay_readme(EXAMPLES / example, folder=Path(directory), edit=edit)


async def main(names: list[str]) -> int:
    """Replay each README; return 1 if the output of a command does not match."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        print(f"not replayed: {', '.join(missing)} cannot be imported; `make bench` installs them")
        return 0
    failed = 0
    for name in names or list(KOPF_PROGRAMS):
        try:
            await replay_with_kopf(name)
        except WaitTimeout as error:
            failed = 1
            print(f"{name}: {error}", flush=True)
        else:
            print(f"{name}: output as expected", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
