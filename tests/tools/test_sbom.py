"""The bill of materials in every wheel lists the vendored libraries as they are."""

from tools.sbom import SBOM, VENDOR, document, text


def test_the_file_is_up_to_date() -> None:
    """An update of a library must not leave its old version in the list; `make sbom` renews it."""
    assert SBOM.read_text(encoding="utf-8") == text()


def test_every_vendored_library_is_listed() -> None:
    """A scanner finds a vulnerable version by this list alone."""
    scripts = {path.name for path in VENDOR.glob("*.mjs")}
    listed = {one["evidence"]["occurrences"][0]["location"].rpartition("/")[2] for one in document()["components"]}
    assert listed == scripts
