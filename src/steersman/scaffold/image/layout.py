"""`Layout`: an OCI image layout on disk. Whatever is read from one is checked against its digest."""

import json
import re
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from steersman.errors import ConfigError
from steersman.json_types import JsonObject
from steersman.scaffold.image.layer import digest_of

MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
CONFIG: Final = "application/vnd.oci.image.config.v1+json"
EMPTY: Final = "application/vnd.oci.empty.v1+json"
INDEX: Final = "application/vnd.oci.image.index.v1+json"
REF_NAME: Final = "org.opencontainers.image.ref.name"
INDEXES: Final = (INDEX, "application/vnd.docker.distribution.manifest.list.v2+json")
MANIFESTS: Final = (MANIFEST, "application/vnd.docker.distribution.manifest.v2+json")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
#: An index may refer to indexes, up to this depth.
_DEPTH: Final = 4


@dataclass(frozen=True, slots=True)
class Layout:
    """A folder with ``oci-layout``, ``index.json`` and ``blobs``."""

    root: Path

    def check(self) -> None:
        """Reject a folder that is not a layout."""
        if not (self.root / "oci-layout").is_file() or not (self.root / "index.json").is_file():
            raise ConfigError(f"{self.root} is not an OCI image layout: it has no oci-layout and index.json")

    def blob(self, digest: str) -> bytes:
        """Read content by its digest."""
        path = self._path(digest)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise ConfigError(f"{self.root} lacks {digest}: {error.strerror}") from None
        if digest_of(data) != digest:
            raise ConfigError(f"{path} is damaged: its content does not match its digest")
        return data

    def document(self, digest: str) -> JsonObject:
        """Read a manifest, an index or a config."""
        return _parsed(self.blob(digest), digest)

    def index(self) -> JsonObject:
        """Read what the layout holds."""
        self.check()
        return _parsed((self.root / "index.json").read_bytes(), str(self.root / "index.json"))

    def only(self) -> JsonObject:
        """Return the descriptor of the only image of a layout."""
        found = [one for one in self.index().get("manifests") or () if not _is_attachment(one)]
        if len(found) != 1 or found[0].get("mediaType") not in MANIFESTS:
            raise ConfigError(f"{self.root} must contain one image to be pushed, not {len(found)}")
        descriptor: JsonObject = found[0]
        return descriptor

    def attachments(self) -> list[JsonObject]:
        """Return the descriptors of the documents that are attached to images."""
        return [one for one in self.index().get("manifests") or () if _is_attachment(one)]

    def manifest(self, platform: str) -> JsonObject:
        """Return the manifest for a platform such as ``linux/amd64``."""
        return self.document(self.manifest_digest(platform))

    def manifest_digest(self, platform: str) -> str:
        """Return the digest of the manifest for a platform."""
        descriptor = self._find(self.index(), platform, _DEPTH)
        if descriptor is None:
            raise ConfigError(f"{self.root} has no image for {platform}")
        return str(descriptor["digest"])

    def _find(self, index: JsonObject, platform: str, depth: int) -> JsonObject | None:
        for descriptor in index.get("manifests") or ():
            if _is_attachment(descriptor):
                continue
            if descriptor.get("mediaType") in INDEXES and depth:
                found = self._find(self.document(descriptor["digest"]), platform, depth - 1)
                if found is not None:
                    return found
            elif descriptor.get("mediaType") in MANIFESTS and self._fits(descriptor, platform):
                fitting: JsonObject = descriptor
                return fitting
        return None

    def _fits(self, descriptor: JsonObject, platform: str) -> bool:
        named = descriptor.get("platform")
        if named is None:  # a layout with one image need not say: its config does
            named = self.document(self.document(descriptor["digest"])["config"]["digest"])
        return f"{named.get('os')}/{named.get('architecture')}" == platform

    def put(self, data: bytes) -> str:
        """Write content; return its digest."""
        digest = digest_of(data)
        path = self._path(digest)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return digest

    def finish(self, descriptor: JsonObject, name: str) -> None:
        """Write what makes the folder a layout: it holds one image, under a name."""
        named = {**descriptor, "annotations": {REF_NAME: name}}
        index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [named]}
        (self.root / "index.json").write_bytes(json_bytes(index))
        (self.root / "oci-layout").write_bytes(json_bytes({"imageLayoutVersion": "1.0.0"}))

    def attach(self, kind: str, document: JsonObject) -> None:
        """Attach a document of a media type to the only image: a manifest that names the image as its subject."""
        index, image = self.index(), self.only()
        data, config = json_bytes(document), json_bytes({})
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "artifactType": kind,
            "config": {"mediaType": EMPTY, "digest": self.put(config), "size": len(config)},
            "layers": [{"mediaType": kind, "digest": self.put(data), "size": len(data)}],
            "subject": {name: image[name] for name in ("mediaType", "digest", "size")},
        }
        content = json_bytes(manifest)
        descriptor = {"mediaType": MANIFEST, "artifactType": kind, "digest": self.put(content), "size": len(content)}
        index["manifests"] = [*index["manifests"], descriptor]
        (self.root / "index.json").write_bytes(json_bytes(index))

    def _path(self, digest: str) -> Path:
        if not _DIGEST.fullmatch(digest):
            raise ConfigError(f"{self.root}: {digest!r} is not a sha256 digest")
        return self.root / "blobs" / "sha256" / digest.partition(":")[2]


def _is_attachment(descriptor: JsonObject) -> bool:
    return "artifactType" in descriptor


def json_bytes(document: JsonObject) -> bytes:
    """Write JSON that is always the same."""
    return json.dumps(document, separators=(",", ":"), sort_keys=True).encode()


def _parsed(data: bytes, name: str) -> JsonObject:
    try:
        found = json.loads(data)
    except ValueError as error:
        raise ConfigError(f"{name} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{name} is not a JSON object")
    return found


@contextmanager
def opened(path: Path) -> Iterator[Layout]:
    """Yield the layout in a folder, or in an archive of one for as long as the block lasts."""
    if path.is_dir():
        layout = Layout(path)
        layout.check()
        yield layout
        return
    with TemporaryDirectory(prefix="steersman-") as folder:
        try:
            with tarfile.open(path) as archive:
                archive.extractall(folder, filter="data")
        except (OSError, tarfile.TarError) as error:
            raise ConfigError(f"{path} cannot be read as an archive: {error}") from None
        layout = Layout(Path(folder))
        if not (layout.root / "index.json").is_file():
            raise ConfigError(f"{path} is not an archive of an OCI image layout: it has no index.json")
        yield layout
