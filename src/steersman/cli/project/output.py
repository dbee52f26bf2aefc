"""Files that commands generate from declarations: written, or compared in CI; outdated ones are removed."""

from collections.abc import Mapping
from pathlib import Path

import click


def write_or_check(out: Path, files: Mapping[str, str], *, check: bool, command: str) -> None:
    """Update a folder and print what changed; with ``check`` only print what is outdated, and fail."""
    from steersman.scaffold.manifests.plain import HEADER
    from steersman.scaffold.tree import Tree

    tree = Tree(out)
    stale = _stale(out, files, HEADER)
    if check:
        wrong = [*tree.outdated(files), *stale]
        if wrong:
            raise click.ClickException(f"out of date in {out}: {', '.join(wrong)}; run '{command}'")
        click.echo(f"{out} is up to date")
        return
    changed = tree.put(files)
    for name in changed:
        click.echo(f"wrote {out / name}")
    for name in stale:
        (out / name).unlink()
        click.echo(f"removed {out / name}")
    if not changed and not stale:
        click.echo(f"{out} is up to date")


def _stale(out: Path, files: Mapping[str, str], header: str) -> list[str]:
    """Return files that were generated and no longer are."""
    found = []
    for path in sorted(out.rglob("*.yaml")):
        name = path.relative_to(out).as_posix()
        is_ours = not path.is_symlink() and path.read_text(encoding="utf-8", errors="replace").startswith(header)
        if name not in files and is_ours:
            found.append(name)
    return found
