import subprocess
from pathlib import Path

from tests.client.real_clients.conftest import BIN, RunningServer
from tests.client.real_clients.kubectl_recording import (
    EVENT,
    arguments,
    normalised,
    recorded_commands,
    same,
    write_files,
)

#: Commands whose output differs on purpose, with the reason.
DIFFERENT = {
    "explain deployment.spec.strategy --recursive": "the schemas of built-in kinds carry no descriptions",
    "explain pods --output=plaintext-openapiv2": "OpenAPI v2 holds no kinds; kubectl has used v3 since 1.27",
    "create token default": "a token is another one each time",
    "get --raw /readyz?verbose": "the checks are the server's own",
}


def _kubectl(server: RunningServer, folder: Path, command: list[str]) -> str:
    done = subprocess.run(  # noqa: S603 - kubectl as it was installed for these tests
        [str(BIN / "kubectl"), *command],
        env={**server.environment(), "KUBE_EDITOR": "sed -i s/replicas:\\ 1/replicas:\\ 2/"},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=30,
        check=False,
    )
    return done.stdout


def test_kubectl_prints_what_it_printed_on_a_real_server(running_server: RunningServer, tmp_path: Path) -> None:
    """A kubectl user must not notice a difference between the embedded server and a real one."""
    write_files(tmp_path)
    assert "created" in _kubectl(running_server, tmp_path, ["create", "-f", "event.yaml"]), EVENT
    differences = {}
    for recorded in recorded_commands():
        printed = _kubectl(running_server, tmp_path, arguments(recorded.command))
        if not same(recorded.output, printed):
            differences[recorded.command] = (normalised(recorded.output), normalised(printed))
    unexpected = {command: shown for command, shown in differences.items() if command not in DIFFERENT}
    assert not unexpected, "\n".join(
        f"$ kubectl {command}\n  recorded: {recorded}\n  printed:  {printed}"
        for command, (recorded, printed) in unexpected.items()
    )
    assert sorted(differences) == sorted(DIFFERENT), "a difference that is no more must leave the list"


def test_kubectl_reports_a_missing_crd(running_server: RunningServer, tmp_path: Path) -> None:
    """A sample applied too early must not fail with a validation error: kubectl falls back to OpenAPI v2 then."""
    sample = tmp_path / "sample.yaml"
    sample.write_text("apiVersion: nobody.example.com/v1\nkind: Nothing\nmetadata: {name: a}\n")
    told = _kubectl(running_server, tmp_path, ["apply", "-f", str(sample)])
    assert 'no matches for kind "Nothing" in version "nobody.example.com/v1"' in told
    assert "ensure CRDs are installed first" in told
