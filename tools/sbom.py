"""Write ``sbom/steersman.cdx.json``: what a wheel of Steersman contains that others wrote (``make sbom``).

The file is part of every wheel (PEP 770). Dependencies are not listed: an installer chooses their versions.
"""

import json
import re
from pathlib import Path
from typing import Any

from steersman.version import __version__

ROOT = Path(__file__).parents[1]
VENDOR = ROOT / "src" / "steersman" / "webview" / "static" / "vendor"
SBOM = ROOT / "sbom" / "steersman.cdx.json"
_ROW = re.compile(r"^\| `([\w.]+)` \| ([\w-]+) ([\d.]+), .*? \| ([\w.-]+), ", re.MULTILINE)


def document() -> dict[str, Any]:
    """Return the bill of materials as CycloneDX 1.6, from the table and the checksums of what is vendored."""
    sums = dict(reversed(line.split()) for line in (VENDOR / "SHA256SUMS").read_text(encoding="utf-8").splitlines())
    rows = _ROW.findall((VENDOR / "README.md").read_text(encoding="utf-8"))
    steersman = {
        "type": "library",
        "name": "steersman",
        "version": __version__,
        "purl": f"pkg:pypi/steersman@{__version__}",
    }
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**steersman, "licenses": [{"license": {"id": "Apache-2.0"}}]}},
        "components": [
            {
                "type": "library",
                "name": name,
                "version": version,
                "purl": f"pkg:npm/{name}@{version}",
                "licenses": [{"license": {"id": licence}}],
                "hashes": [{"alg": "SHA-256", "content": sums[file]}],
                "evidence": {"occurrences": [{"location": f"steersman/webview/static/vendor/{file}"}]},
            }
            for file, name, version, licence in rows
        ],
    }


def text() -> str:
    """Return the file."""
    return json.dumps(document(), indent=2) + "\n"


if __name__ == "__main__":
    SBOM.parent.mkdir(exist_ok=True)
    SBOM.write_text(text(), encoding="utf-8")
