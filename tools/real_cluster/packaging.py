"""Programs that read what `steer chart` and `steer bundle` write, built once from their Go modules."""

from pathlib import Path
from typing import Final

from tools.control_plane.binaries import build_program, cache_folder, pinned_version

_HERE: Final = Path(__file__).parent
_HELM: Final = _HERE / "helm"
_BUNDLE: Final = _HERE / "bundle_validator"


def ensure_packaging_tools() -> Path:
    """Return the folder with `helm` and `bundle-validator`, building those that are not in the cache yet."""
    helm = pinned_version(_HELM, "helm.sh/helm/v4")
    bundle = pinned_version(_BUNDLE, "github.com/operator-framework/api")
    folder = cache_folder() / f"packaging-helm-{helm}-operator-framework-{bundle}"
    folder.mkdir(parents=True, exist_ok=True)
    for name, module, package in (
        ("helm", _HELM, "helm.sh/helm/v4/cmd/helm"),
        ("bundle-validator", _BUNDLE, "."),
    ):
        if not (folder / name).exists():
            unfinished = folder / f".{name}"
            build_program(name, module, "build", "-trimpath", "-ldflags=-s -w", "-o", str(unfinished), package)
            unfinished.rename(folder / name)
    return folder
