"""The error messages of `steer`, word for word: what is wrong, with the value and where, then what to do.

Each of them needs neither a cluster nor a network; those of a cluster are beside the tests of the commands.
"""

from pathlib import Path

import pytest
from click.testing import CliRunner

from steersman.cli import main

KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: a
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: a, context: {cluster: c, user: u}}]
users: [{name: u, user: {}}]
"""
NO_PROJECT = "there is no project in this folder: change to one, create one with 'steer init NAME', or pass "
NOT_SCENARIO = "Invalid value for MODULE:SCENARIO: os:walk is not a scenario"
NOT_NAMESPACE = "is not the name of a namespace: use lower-case letters, digits and '-'"
REFUSED = "https://127.0.0.1:1: Connection refused; check the address, and that the server runs"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a folder without a project, in which no kubeconfig is found but `kc`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/nowhere")
    monkeypatch.delenv("KUBECONFIG", raising=False)
    (tmp_path / "kc").write_text(KUBECONFIG)
    (tmp_path / "other").write_text(KUBECONFIG.replace("user: u}", "user: x}"))
    (tmp_path / "ftp").write_text(KUBECONFIG.replace("https://127.0.0.1:1", "ftp://x"))
    (tmp_path / "text").write_text("hello")
    (tmp_path / "bad.yaml").write_text("a: [")
    (tmp_path / "pod.yaml").write_text("kind: Pod")
    return tmp_path


def error_of(arguments: str) -> str:
    """Run a command that must fail without a traceback; return its last line without the prefix."""
    answer = CliRunner().invoke(main, arguments.split(), prog_name="steer")
    assert answer.exit_code in (1, 2), answer.output
    line = answer.stderr.splitlines()[-1]
    assert line.startswith("steer: ")
    return line.removeprefix("steer: ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("frobnicate", "No such command 'frobnicate'; see 'steer --help'"),
        ("init", "Missing argument 'NAME'; see 'steer init --help'"),
        ("init a --foo", "No such option '--foo'; see 'steer init --help'"),
        ("init A_b", "a project cannot be named 'A_b': use lower-case letters, digits and '-', such as my-operator"),
        ("init a --domain x", "'x' is not a domain: write one such as example.com"),
        ("install", f"{NO_PROJECT}--operator MODULE:OPERATOR"),
        ("deploy", f"{NO_PROJECT}--operator MODULE:OPERATOR"),
        ("manifests", f"{NO_PROJECT}--operator MODULE:OPERATOR"),
        ("run", f"{NO_PROJECT}MODULE:OPERATOR"),
        ("plan", f"{NO_PROJECT}MODULE:OPERATOR"),
        ("run a:b --lease-namespace A_b", f"Invalid value for '--lease-namespace': 'A_b' {NOT_NAMESPACE}"),
        ("run a", "Invalid value for MODULE:OPERATOR: 'a' is not MODULE:OPERATOR, such as my_operator.main:operator"),
        ("run no.where:a", "Invalid value for MODULE:OPERATOR: cannot import 'no.where': No module named 'no'"),
        ("run os:path", "Invalid value for MODULE:OPERATOR: os:path is not an Operator, but of the type module"),
        ("run os:nothing", "Invalid value for MODULE:OPERATOR: the module os has no 'nothing'"),
        ("server --port 99999", "Invalid value for '--port': '99999' is not a port: pass a number from 0 to 65535"),
        ("server --data /dev/null/x", "cannot use /dev/null/x for data: Not a directory"),
        ("server --webhook x", "Invalid value for --webhook: 'x' is not NAMESPACE/NAME[:PORT]=HOST:PORT"),
        ("server import --data d f", "cannot read f: No such file or directory"),
        ("pause a", "Invalid value for KIND/NAME: 'a' is not KIND/NAME, such as custompod/a"),
        ("why a", "Invalid value for KIND/NAME: 'a' is not KIND/NAME, such as custompod/a"),
        ("pause a/b --for x", "Invalid value for '--for': 'x' is not a length of time such as 30m, 2h or 1d12h"),
        (
            "pause a/b --for 9999d",
            "Invalid value for '--for': '9999d' is longer than 3650d: leave --for out to pause without an end",
        ),
        (
            "migrate Boat --yes",
            "kubeconfig /nowhere/.kube/config: No such file or directory; set KUBECONFIG, or pass a kubeconfig",
        ),
        ("migrate Boat --yes --kubeconfig kc", REFUSED),
        ("pause boat/a --yes --kubeconfig kc", REFUSED),
        ("generate models --from http://127.0.0.1:1/c.yaml --out x", REFUSED.replace("https", "http")),
        ("generate models --from none.yaml --out x", "none.yaml: No such file or directory"),
        ("generate models --from bad.yaml --out x", "bad.yaml: line 2: did not find expected node content"),
        (
            "generate models --from pod.yaml --out x",
            "pod.yaml: a document needs apiVersion and kind; it has only: kind",
        ),
        ("samples apply", "the folder samples has no YAML files with objects: pass another one with --from"),
        ("image push localhost:1/a:1", "there is no image in build/image: run 'steer image build' first"),
        ("image push a", "'a' names no registry: write it as registry.example.com/name:tag"),
        (
            "plan os:path --kubeconfig kc",
            "Invalid value for MODULE:OPERATOR: os:path is not an Operator, but of the type module",
        ),
        ("why --export x", "--save-test and --export need KIND/NAME, and cannot be combined with --json or --follow"),
        ("why a/b --follow --json", "--follow needs KIND/NAME, and cannot be combined with --json"),
        ("why a/b --reconcile 3", "--reconcile and --operator need --save-test or --export"),
        ("why a/b --kubeconfig kc", REFUSED),
        ("replay text", "text is not an export of `steer why --export`: Expected `object`, got `str`"),
        ("simulate", "no scenario given: pass MODULE:SCENARIO, or --generate N for generated operations"),
        ("simulate a", "'a' is not MODULE:SCENARIO, such as tests.scenarios:rollout"),
        ("simulate os:walk", f"{NOT_SCENARIO}: pass an async function that takes the cluster"),
        ("simulate --scenario text", "--scenario is only for programs: pass --command too"),
        ("simulate --command ./none", "there is no program './none': give its path, or the name of one in PATH"),
        ("server export --data d f", "there is no cluster in d: pass the directory of a `steer server --data`"),
        (
            "server import --data d kc",
            "kc is not an export of `steer server export`: line 1: JSON is malformed: invalid character (byte 0)",
        ),
        ("dev --node cloud", "Invalid value for '--node': 'cloud' is not one of 'simulated', 'process'."),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_mistake_is_one_sentence_that_says_what_to_do(arguments: str, message: str) -> None:
    """Users read these messages more often than any guide; a changed one is reviewed here."""
    assert error_of(arguments) == message


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("none", "kubeconfig {0}/none: No such file or directory; set KUBECONFIG, or pass a kubeconfig"),
        ("text", "kubeconfig {0}/text: line 1: a document must be an object, not str"),
        ("other", "{0}/other: context 'a': user 'x' is not in {0}/other; there are: u"),
        ("ftp", "{0}/ftp: context 'a': cluster 'c' ({0}/ftp): server: 'ftp://x' is not an http or https URL"),
        ("kc --context b", "context 'b' is not in {0}/kc; there are: a"),
    ],
)
def test_a_broken_kubeconfig_is_named_with_the_place(folder: Path, file: str, message: str) -> None:
    """A kubeconfig may be merged from several files: the error names the one to edit."""
    assert error_of(f"migrate Boat --yes --kubeconfig {file}") == message.format(folder)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--group g --version 1 --kind Boat", "'1' is not an API version: write one such as v1 or v1alpha1"),
        ("--group g --version v1 --kind boat", "'boat' is not a kind: write it in CamelCase, such as CustomPod"),
        (
            "--group G --version v1 --kind Boat",
            "'G.example.com' is not an API group: write a lower-case DNS name such as apps.example.com",
        ),
    ],
)
@pytest.mark.usefixtures("folder")
def test_names_of_a_new_kind_are_explained(arguments: str, message: str) -> None:
    """The names become part of URLs and code, so they have rules that a newcomer does not know."""
    assert CliRunner().invoke(main, ["init", "a"]).exit_code == 0
    assert error_of(f"create api {arguments}") == message
