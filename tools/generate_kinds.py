"""Write src/steersman/kinds/: one module for each stable group-version of a Kubernetes server.

Give it files: OpenAPI v3 documents (or one bundle ``{"kubernetes": …, "schemas": {…}}``) and the aggregated discovery
of ``/api`` and ``/apis`` (two documents, or one ``{"core": …, "groups": …}``). From a live server::

    kubectl get --raw /openapi/v3/api/v1 > core.json          # and so on for each path in /openapi/v3
    kubectl get --raw /api  --header 'Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
"""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from steersman.codegen.generator import builtin_modules
from steersman.objects.codec import decode_json

KINDS = Path(__file__).parent.parent / "src" / "steersman" / "kinds"


def _documents(paths: list[Path]) -> Iterator[Mapping[str, Any]]:
    for path in paths:
        for file in sorted(path.glob("*.json")) if path.is_dir() else [path]:
            document = decode_json(file.read_bytes())
            yield from (document["core"], document["groups"]) if "groups" in document else (document,)


def main() -> None:
    """Read the documents, write the modules."""
    parser = argparse.ArgumentParser(description="Generate the built-in kinds.")
    parser.add_argument("--openapi", type=Path, nargs="+", required=True, help="OpenAPI v3 files, or folders of them")
    parser.add_argument("--discovery", type=Path, nargs="+", required=True, help="aggregated discovery files")
    parser.add_argument("--into", type=Path, default=KINDS, help="the folder to write to")
    options = parser.parse_args()
    files = builtin_modules(
        list(_documents(options.openapi)), list(_documents(options.discovery)), "tools/generate_kinds.py"
    )
    for name, source in files.items():
        (options.into / name).write_text(source, encoding="utf-8")
    print(f"{len(files)} files in {options.into}")


if __name__ == "__main__":
    main()
