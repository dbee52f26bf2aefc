"""`steer generate models`: classes from a file, from the web, from a cluster."""

import functools
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from steersman.cli import main
from tests.cli.conftest import RunningServer
from tests.support.kubectl import KUBECTL

DEFINITIONS = Path("tests/golden/widgets-crd.yaml").resolve()


def steer(*arguments: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(main, arguments)


class _FileHandler(SimpleHTTPRequestHandler):
    """Serves files; one path redirects."""

    def do_GET(self) -> None:
        """Send the file."""
        if self.path == "/moved.yaml":
            self.send_response(302)
            self.send_header("location", "/widgets-crd.yaml")
            self.send_header("content-length", "0")
            self.end_headers()
            return
        super().do_GET()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def web() -> Iterator[str]:
    """Serve the CRDs on this machine."""
    handler = functools.partial(_FileHandler, directory=str(DEFINITIONS.parent))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_classes_from_a_file_can_be_used(tmp_path: Path) -> None:
    """The module is imported, and has the kind."""
    out = tmp_path / "others"
    assert steer("generate", "models", "--from", str(DEFINITIONS), "--out", str(out)).exit_code == 0
    [module] = [path.stem for path in out.glob("*_*.py") if path.stem != "__init__"]
    script = f"import others.{module} as made; print(made.Widget.__resource__.plural)"
    answer = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)  # noqa: S603 - our own interpreter
    assert answer.stdout == "widgets\n"


def test_a_url_and_a_cluster_generate_the_same_classes(tmp_path: Path, web: str, server: RunningServer) -> None:
    """The source of a CRD must not matter."""
    del server
    made = {}
    subprocess.run([KUBECTL, "apply", "-f", str(DEFINITIONS)], check=True, capture_output=True)  # noqa: S603 - the test's own tool
    for name, source in {"file": str(DEFINITIONS), "web": f"{web}/widgets-crd.yaml", "cluster": "cluster"}.items():
        out = tmp_path / name
        answer = steer("generate", "models", "--from", source, "--out", str(out))
        assert answer.exit_code == 0, answer.output
        made[name] = {path.name: path.read_text() for path in out.iterdir()}
    assert made["file"] == made["web"]
    # A server returns fields in another order.
    assert {name: sorted(text.splitlines()) for name, text in made["cluster"].items()} == {
        name: sorted(text.splitlines()) for name, text in made["file"].items()
    }


@pytest.mark.parametrize(
    ("source", "code", "message"),
    [
        ("{web}/moved.yaml", 1, "has moved to /widgets-crd.yaml"),
        ("{web}/nothing.yaml", 1, "answered with status 404"),
        ("http://example.com/a.yaml", 2, "only https"),
        ("nothing.yaml", 1, "nothing.yaml"),
        (str(DEFINITIONS.parent / "kubectl.jsonl.xz"), 2, "kubectl.jsonl.xz"),
    ],
)
def test_a_source_that_cannot_be_read_is_one_sentence(
    web: str, tmp_path: Path, source: str, code: int, message: str
) -> None:
    """It names the source, and no partial result is written."""
    out = tmp_path / "out"
    answer = steer("generate", "models", "--from", source.format(web=web), "--out", str(out))
    assert answer.exit_code == code
    assert message in answer.stderr
    assert answer.stderr.count("\n") == 1
    assert not out.exists()


def test_one_of_several_crds_can_be_chosen(tmp_path: Path) -> None:
    """A cluster has hundreds."""
    answer = steer("generate", "models", "--from", str(DEFINITIONS), "--only", "no.example.com", "--out", str(tmp_path))
    assert answer.exit_code == 1
    assert "has no CRD no.example.com; it has widgets." in answer.stderr


def test_generated_classes_pass_the_checks_of_a_project(project: Path) -> None:
    """Descriptions come from the CRD; missing ones made `make check` of a new project fail."""
    assert steer("generate", "models", "--from", str(DEFINITIONS), "--out", "fleet/others").exit_code == 0
    command = [str(Path(sys.executable).with_name("ruff")), "check", "."]
    answer = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)  # noqa: S603 - of this environment
    assert answer.returncode == 0, answer.stdout
