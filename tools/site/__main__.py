"""Build the site: ``python -m tools.site [--out FOLDER]``. A warning of Sphinx, such as a broken link, is an error."""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from steersman.version import __version__
from tools.site.pages import add_pages, add_versions
from tools.site.reference import generated_pages
from tools.site.sections import ROOT, sections
from tools.site.sources import START, collect

_CONFIGURATION: dict[str, Any] = {
    "project": "Steersman",
    "version": __version__,
    "release": __version__,
    "root_doc": START.removesuffix(".md"),
    "extensions": ["myst_parser", "sphinx.ext.autodoc"],
    "html_theme": "furo",
    "html_title": f"Steersman {__version__}",
    "html_copy_source": False,
    "html_show_copyright": False,
    "html_static_path": [],
    # Headings of up to this level can be linked to, under the names that forges give them.
    "myst_heading_anchors": 4,
    "myst_enable_extensions": ["colon_fence"],
    # In a docstring, `name` is code.
    "default_role": "code",
    "add_module_names": False,
    "autodoc_member_order": "bysource",
    "autodoc_typehints_format": "short",
    "autodoc_preserve_defaults": True,
    "python_use_unqualified_type_names": True,
    "python_maximum_signature_line_length": 100,
    "toc_object_entries": False,
    "pygments_style": "default",
    # Shell sessions with their answers, JSON with an ellipsis: a block that its lexer does not know is shown plain.
    "suppress_warnings": ["misc.highlighting_failure"],
}


def build(out: Path) -> list[str]:
    """Build the site of this version below a folder, and return the paths of its pages."""
    target = out / __version__
    shutil.rmtree(target, ignore_errors=True)
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch, "pages")
        paths = collect(source, sections(), generated_pages())
        app = Sphinx(
            source,
            None,
            target,
            Path(scratch, "trees"),
            "html",
            confoverrides=_CONFIGURATION,
            status=None,
            warning=sys.stderr,
            warningiserror=True,
        )
        app.build(force_all=True)
        if app.statuscode:
            sys.exit(f"the site has errors: see the warnings above ({app.statuscode})")
        add_pages(source, target, paths)
    add_versions(out, __version__)
    return paths


def main() -> None:
    """Build the site and say where it is."""
    parser = argparse.ArgumentParser(prog="python -m tools.site", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site", help="the folder of all versions")
    arguments = parser.parse_args()
    paths = build(arguments.out)
    print(f"{len(paths)} pages: {arguments.out / 'index.html'}")


if __name__ == "__main__":
    main()
