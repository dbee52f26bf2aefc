"""Run Kubernetes' conformance specs that need no containers on the embedded server: ``make conformance FOCUS=…``.

    python -m tools.conformance [--focus PATTERN] [--report FILE] [--list]

Builds ``e2e.test`` of the pinned Kubernetes version once, starts a local cluster (API server, workload controllers,
two simulated nodes) in this process, and runs the specs on it, one after another. What is left out, and why, is in
``left_out.toml``. Prints the counts; the exit code is 0 if no spec failed.
"""

import argparse
import asyncio
import json
import logging
import os
import re
import sys
import tempfile
from pathlib import Path

from steersman.apiserver.access.authentication import ADMIN
from steersman.apiserver.local import LocalServer, local_server
from steersman.client.client import Client
from steersman.clock import RealClock
from steersman.concurrency import background
from steersman.kinds.admissionregistration_v1 import MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding
from steersman.localcluster.local_cluster import controllers
from steersman.localcluster.simulated_node.node import simulated_node
from steersman.manager.manager import Manager
from steersman.manager.process.logs import configure_logging
from steersman.objects.codec import from_json
from steersman.transport.in_memory import InMemoryTransport
from tools.conformance.behaviour import binding, policy
from tools.conformance.selection import Results, Selection, conformance_specs, left_out, select, summary
from tools.control_plane.binaries import Binaries, MissingError

_NODES = ("node-1", "node-2")
_HOURS = 3
#: Characters that Go's regular expressions interpret.
_SPECIAL = re.compile(r"[][\\.+*?()|{}^$]")


async def _output(*command: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *command,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, "KUBECONFIG": os.devnull},
    )
    output, _ = await process.communicate()
    return output.decode()


def _arguments(binaries: Binaries, folder: Path, selection: Selection, report: Path) -> list[str]:
    # Ginkgo puts the name of its suite in front of the names of specs.
    focus = "|".join(_SPECIAL.sub(r"\\\g<0>", spec) + "$" for spec in selection.specs)
    return [
        binaries["e2e.test"],
        f"--kubeconfig={folder / 'kubeconfig'}",
        f"--kubectl-path={binaries['kubectl']}",
        "--provider=skeleton",
        f"--ginkgo.focus={focus}",
        f"--ginkgo.json-report={report}",
        f"--ginkgo.timeout={_HOURS}h",
        "--ginkgo.no-color",
        "--ginkgo.silence-skips",
        "--disable-log-dump",
        "--dump-logs-on-failure=false",
    ]


async def _run_specs(server: LocalServer, binaries: Binaries, selection: Selection, report: Path) -> int:
    clock = RealClock()
    transport = InMemoryTransport(server.api.acting_as(ADMIN), clock=clock)
    client = Client(transport, field_manager="conformance")
    await client.create(from_json(MutatingAdmissionPolicy, policy()))
    await client.create(from_json(MutatingAdmissionPolicyBinding, binding()))
    manager = Manager((*controllers(), *map(simulated_node, _NODES)), transport, clock=clock)
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        place = Path(folder)
        (place / "kubeconfig").touch(mode=0o600)
        (place / "kubeconfig").write_bytes(server.access.kubeconfig())
        async with background(manager.run(), name="local cluster"):
            process = await asyncio.create_subprocess_exec(*_arguments(binaries, place, selection, report))
            try:
                return await process.wait()
            finally:
                if process.returncode is None:
                    process.terminate()
                    await process.wait()


async def _main(options: argparse.Namespace) -> int:
    binaries = Binaries.ensure(("kubectl", "e2e.test"))
    specs = conformance_specs(await _output(binaries["e2e.test"], "--list-tests"))
    selection = select(specs, left_out(), options.focus)
    if selection.unused:
        print(f"left_out.toml has patterns that match no spec: {', '.join(selection.unused)}", file=sys.stderr)
        return 2
    if options.list:
        print("\n".join(selection.specs))
        return 0
    async with local_server() as server:
        code = await _run_specs(server, binaries, selection, options.report)
    if not options.report.exists():
        print("e2e.test ended without a report", file=sys.stderr)
        return code or 2
    (report,) = json.loads(options.report.read_text())
    results = Results.of(report)
    print(summary(selection, results))
    return 1 if results.failed else 0


def main() -> int:
    """Run the specs and return the exit code."""
    parser = argparse.ArgumentParser(prog="conformance", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--focus", default="", help="pattern of the specs to run; default: all that are not left out")
    parser.add_argument("--report", type=Path, default=Path("conformance.json"), help="Ginkgo's report, to be written")
    parser.add_argument("--list", action="store_true", help="print the names of the specs instead of running them")
    options = parser.parse_args()
    options.report = options.report.resolve()
    configure_logging(json=False, level=logging.WARNING)
    try:
        return asyncio.run(_main(options))
    except MissingError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
