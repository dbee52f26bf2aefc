"""No output of a plan has the content of a Secret, wherever it was copied to."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman import Context, Model, Operator, Resource, Status, custom_resource, meta
from steersman.golang.yaml_writer import write_yaml
from steersman.history.differences import without_confidential
from steersman.history.redaction import SecretMemory
from steersman.kinds.core_v1 import ConfigMap, Secret
from steersman.objects.codec import encode_json
from steersman.planning import PlanOptions
from steersman.planning.changes import Place
from steersman.planning.document import plan_document
from steersman.planning.redaction import Redaction
from steersman.testing import Cluster

SHORT, NUMBER, LONG = "hunt3r", "73914", "canary-of-some-length"


class VaultSpec(Model):
    """What is wanted."""

    port: int = 0


@custom_resource("redaction.example.com/v1")
class Vault(Resource[VaultSpec, Status]):
    """An object whose operator spreads secrets."""


def redaction(*values: str, namespace: str = "default") -> Redaction:
    """Return a redaction that has seen one Secret."""
    found = Redaction(SecretMemory(), b"k" * 32)
    content = {str(number): value for number, value in enumerate(values)}
    found.learn(Place("secrets", namespace, "login"), encode_json({"kind": "Secret", "stringData": content}))
    return found


async def copy(secret: Secret, name: str, ctx: Context[Vault]) -> None:
    """Copy the values of a Secret to every place of a ConfigMap, and into words about it."""
    values = [value.decode() for value in secret.data.values()]
    data = {f"value-{number}": value for number, value in enumerate(values)}
    data |= dict.fromkeys(values, "as a key")
    data |= {f"url-{number}": f"db://user:{value}@host/{number}" for number, value in enumerate(values)}
    await ctx.apply(ConfigMap(meta(name, annotations={"copy": json.dumps(values)}), data=data))
    ctx.condition("Ready", False, "Copied", " ".join(values))  # noqa: FBT003 - reads as the condition


@pytest.mark.parametrize("origin", ["existing", "created", "deleted", "rejected"])
async def test_no_output_has_the_content_of_a_secret(cluster: Cluster, origin: str) -> None:
    """This includes short values, numbers and keys, and a Secret that exists neither before nor after the plan."""
    operator = Operator("vaults")
    made = Secret(meta("login", "default"), data={"a": SHORT.encode(), "b": NUMBER.encode(), "c": LONG.encode()})

    @operator.reconciler(Vault, owns=[ConfigMap])
    async def reconcile(vault: Vault, ctx: Context[Vault]) -> None:
        secret = await ctx.client.try_get(Secret, "login", "default")
        if origin in ("created", "deleted"):
            secret = secret or await ctx.client.create(made)
        if secret is None:
            wrong = Secret(meta("Wrong Name", "default"), data=made.data)
            with pytest.raises(ValueError, match="Wrong"):
                raise ValueError(str(await rejected(ctx, wrong)))
        await copy(secret or made, "copy", ctx)
        if origin == "deleted" and secret is not None:
            await ctx.client.delete(secret)
        await ctx.client.patch(vault, {"spec": {"port": int(NUMBER)}})
        await ctx.external_write("db", f"set the password {SHORT} and {LONG}", ignored)

    await cluster.install(Vault)
    if origin == "existing":
        await cluster.client.create(made)
    await cluster.client.create(Vault(meta("a")))
    plan = await cluster.plan(operator)
    assert not plan.failures, str(plan)
    document = plan_document(plan)
    shown = [str(plan), json.dumps(document), write_yaml([document]), repr(plan)]
    for value in (SHORT, NUMBER, LONG):
        assert not [text for text in shown if value in text], value
    assert "<hash " in str(plan)


async def rejected(ctx: Context[Vault], secret: Secret) -> Exception:
    """Return the error of a Secret that the server does not accept."""
    try:
        await ctx.client.create(secret)
    except Exception as error:  # noqa: BLE001 - whatever the server says
        return error
    raise AssertionError("it is accepted")


async def ignored() -> None:
    """Raise: a plan makes no external write."""
    raise AssertionError("it is made")


async def test_documents_mask_what_the_text_masks(cluster: Cluster) -> None:
    """Whole objects, also proposed ones, have neither passwords of fields nor those in URLs."""
    operator = Operator("vaults")

    @operator.reconciler(Vault, owns=[ConfigMap])
    async def reconcile(_vault: Vault, ctx: Context[Vault]) -> None:
        data = {"password": "rootpw123", "url": "mongodb://root:rootpw123@h", "plain": "shown"}
        await ctx.apply(ConfigMap(meta("copy"), data=data))

    await cluster.install(Vault)
    await cluster.client.create(Vault(meta("a")))
    proposed = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "mine"},
        "data": {"token": "rootpw123", "url": "mongodb://root:rootpw123@h"},
    }
    plan = await cluster.plan(operator, options=PlanOptions(proposed=(proposed,)))
    document = plan_document(plan)
    assert "rootpw123" not in json.dumps(document)
    change = next(one for one in document["objects"][0]["changes"] if one["kind"] == "ConfigMap")
    assert change["after"]["data"] == {"password": "<secret>", "url": "mongodb://<secret>@h", "plain": "shown"}


def test_the_manifest_that_kubectl_keeps_is_masked_like_the_object() -> None:
    """It is a text inside of the object, and has every field once more."""
    manifest = {"spec": {"password": "rootpw123", "size": 3}}
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(manifest), "mine": "stays"}
    shown = without_confidential({"metadata": {"annotations": annotations}, "spec": manifest["spec"]})
    assert "rootpw123" not in json.dumps(shown)
    kept, mine = shown["metadata"]["annotations"].values()
    assert json.loads(kept) == {"spec": {"password": "<secret>", "size": 3}}
    assert mine == "stays"


def test_a_copy_has_the_hash_of_the_original() -> None:
    """So a reader sees that a password went from here to there, and in JSON that a copy is out of date."""
    found = redaction(LONG, SHORT)
    secret = found.document("secrets", {"metadata": {"name": "login"}, "stringData": {"a": LONG, "b": SHORT}})
    copy = found.document("configmaps", {"metadata": {"name": "x"}, "data": {"a": LONG, "b": SHORT}})
    assert secret["stringData"] == copy["data"]
    encoded = {"metadata": {}, "data": {"b": "aHVudDNy"}}
    assert found.document("secrets", encoded)["data"]["b"] == copy["data"]["b"]


def test_a_short_value_is_masked_where_it_stands_by_itself() -> None:
    """Masked inside of words, it would make a plan unreadable: the users of databases are called admin."""
    found = redaction("admin")
    assert found.text("administration of cluster_admins") == "administration of cluster_admins"
    for text in ("admin", "user=admin", "db://admin@host", "(admin)", "admin\n"):
        assert "admin" not in found.text(text)
    assert found.masked({"replicas": 1, "ready": True, "ratio": 0.5}) == {"replicas": 1, "ready": True, "ratio": 0.5}


def test_names_stay() -> None:
    """They are public. A Secret with a token has its namespace among its values."""
    assert redaction("shop", namespace="shop").text("in shop") == "in shop"
    document = {"kind": "ConfigMap", "metadata": {"name": "admin", "namespace": "shop"}, "data": {"a": "admin"}}
    shown = redaction("admin", "shop", "ConfigMap").document("configmaps", document)
    assert (shown["kind"], shown["metadata"]) == (document["kind"], document["metadata"])
    assert shown["data"]["a"].startswith("<hash ")


@given(st.text("abz09_-.:/@#%+=~!$", min_size=4, max_size=12), st.text(' ,;"()[]{}', min_size=1, max_size=2))
def test_any_value_of_four_characters_is_masked_where_it_stands_by_itself(value: str, around: str) -> None:
    """Whatever a password is made of, and whatever is around it."""
    found = redaction(value)
    assert found.text(value) != value
    assert re.sub("<hash [0-9a-f]{12}>", "", found.text(f"{around}{value}{around}")) == around * 2
