"""Names of collections: those of the server, and those of a restore next to the existing data."""

from dataclasses import dataclass

#: Prefix of the collection with the documents of a time series.
BUCKETS = "system.buckets."
#: Prefixes of collections of a restore that is running or has failed.
STAGED, REPLACED = "mgors-new.", "mgors-old."
#: The definitions of the views of a database, and of its time series.
VIEWS = "system.views"


@dataclass(frozen=True, slots=True)
class Names:
    """Names of the staged collections of a restore."""

    tag: str

    def staged(self, name: str) -> str:
        """Return the name of the staged copy of a collection, or of the buckets of a time series."""
        if name.startswith(BUCKETS):
            return f"{BUCKETS}{STAGED}{self.tag}.{name.removeprefix(BUCKETS)}"
        # Names with ".system." are reserved.
        return f"{STAGED}{self.tag}.{'~' if name.startswith('system.') else ''}{name}"

    def original(self, staged: str) -> str | None:
        """Return the name whose staged copy this is; ``None`` if it is another collection."""
        prefix = f"{STAGED}{self.tag}."
        return staged.removeprefix(prefix).removeprefix("~") if staged.startswith(prefix) else None
