"""Recorded answers that the embedded server does not return yet, by file, sequence and step, each with its reason.

A step that is listed here and answered as recorded fails the test: the list can only get shorter.
"""

_MADE_UP = "the message quotes a name or uid that each server generates"
_LATER = "a real server establishes a CRD some milliseconds later; here it is established at once"
_REMEMBERED = "a real server caches for ten seconds that a token is valid; here it is rejected at once"
_CERTIFICATES = "certificate signing requests are stored, but hardly validated"
_PARTS = "webhooks are told of a part of an object without the owners of its fields and what is empty"
_REDIRECTS = "redirects are not followed: they could lead to another machine"
_PROTOBUF = "answers are JSON on purpose, whatever the client prefers"
_CHECKS = "the names of the health checks are those of Kubernetes' own components"
_HASHES = "hashes of documents differ between servers"
_NO_NODE = "no node serves logs"
_OPENID = "tokens are signed with an elliptic-curve key, and the address is that of this server"

NOT_COVERED: dict[str, dict[str, dict[str, str]]] = {
    "lifecycle": {
        "generation-customresourcedefinition": {
            "1 label": _LATER,
            "2 spec": _LATER,
            "3 no-op": _LATER,
            "4 generation set by user": _LATER,
            "5 status through main": _LATER,
        },
        "token-subresource": {"8 review after the pod is gone": _REMEMBERED},
    },
    "tables": {
        "table-hpa": {
            "4 GET /apis/autoscaling/v1/namespaces/tb-hpa/horizontalpodautoscalers": "metrics that only v2 knows are "
            "not shown through v1"
        },
        "table-misc": {
            "6 GET /apis/scheduling.k8s.io/v1/priorityclasses": "the two system priority classes are "
            "supported, but not served as objects",
            "9 GET /api/v1/componentstatuses": "there are no components whose status could be returned",
        },
    },
    "defaults": {
        "defaults-tokenreview-admin": {"0 create admin": "the token of the recorded server is unknown here"},
    },
    "validation": {
        "create-pod-generatename-invalid": {"0 generateName invalid": _MADE_UP},
        "create-job-selector-given-without-manualselector": {"0 selector given without manualSelector": _MADE_UP},
    },
    "authz": {
        "no-rights-part3": {"5 GET /openapi/v3": _HASHES},
        "subjectaccessreview-part4": {"4 with a name": "the quoted metadata is in the order of its names"},
        "anonymous-part1": {"5 two spaces": "an invalid header is ignored without a warning"},
        "service-account-token": {"5 after delete": _REMEMBERED},
        "csr-approval": {
            "7 bad certificate": _CERTIFICATES,
        },
        "bootstrap-roles-aggregated-part1": {"0 names": "the first account of a namespace is there at once"},
    },
    "admission": {
        "hook-subresources": {
            "6 PATCH /apis/apps/v1/namespaces/NS/deployments/d/scale": _PARTS,
            "7 PUT /apis/apps/v1/namespaces/NS/deployments/d/scale": _PARTS,
            "8 POST /api/v1/namespaces/NS/pods/p/binding": _PARTS,
            "10 POST /api/v1/namespaces/NS/serviceaccounts/sa/token": _PARTS,
            "13 DELETE /api/v1/namespaces/NS/pods/p?gracePeriodSeconds=0": "eviction sets no condition",
        },
        "mutating-failures-fail": {
            "4 POST /api/v1/namespaces/NS/configmaps": _REDIRECTS,
            "16 POST /api/v1/namespaces/NS/configmaps": "what is wrong with a patch is told in other words",
            "17 POST /api/v1/namespaces/NS/configmaps": "what is wrong with a patch is told in other words",
        },
        "mutating-failures-ignore": {
            "16 POST /api/v1/namespaces/NS/configmaps": "what is wrong with a patch is told in other words"
        },
        "validating-failures-fail": {"4 POST /api/v1/namespaces/NS/configmaps": _REDIRECTS},
        "conversion-refused": {
            "5 GET /apis/ad-conversion-refused.example.com/v2/namespaces/NS/things": (
                "there is no cache that would have to be filled first: the failure itself is told"
            )
        },
    },
    "http": {
        "http-accept-part2": {
            "2 Accept: application/vnd.kubernetes.protobuf": _PROTOBUF,
        },
        "http-accept-part3": {
            "2 Accept: application/vnd.kubernetes.protobuf, application/json": _PROTOBUF,
        },
        "http-protobuf-body": {
            "1 exists, protobuf answer": _PROTOBUF,
        },
        "http-bad-json-part2": {
            "3 bom": "an invisible character is shown differently",
            "4 duplicate keys": "Go merges objects that occur twice",
        },
        "http-bad-json-part4": {
            "5 float int": "another kind is rejected before its content is read",
        },
        "http-methods-part4": {
            "4 POST /openapi/v3": _HASHES,
        },
        "http-health-part1": {
            "2 /readyz?verbose": _CHECKS,
            "5 GET /.well-known/openid-configuration": _OPENID,
        },
        "http-health-part2": {
            "1 /healthz?verbose": _CHECKS,
            "2 /readyz?exclude=etcd&verbose": _CHECKS,
        },
        "http-health-part3": {
            "1 /livez?verbose=1": _CHECKS,
        },
        "http-openapi-index": {
            "0 GET /openapi/v3": _HASHES,
            "1 with the right hash (HEAD)": _HASHES,
            "7 not acceptable": _HASHES,
        },
    },
    "requests": {
        "requests": {
            "52 watch old rv": "the first versions had expired on the recorded server",
            "79 root": "the paths are those of Kubernetes' own components",
        },
    },
    "kubectl": {
        "kubectl": {
            "41 get all": "the Service of the API has no owner of its fields, and autoscalers no columns",
            "134 get svc,deploy,cm": "the Service of the API has no owner of its fields, and autoscalers no columns",
            "137 run p1 --image=nginx": "pods do not get the token of a service account",
            "138 logs p1": "pods do not get the token of a service account",
            "140 exec p1 -- ls": "pods do not get the token of a service account",
            "143 get events": "the recording shows an event of an earlier sequence",
            "149 create token default": "without controllers there is no default account",
            "157 get --raw /readyz?verbose": _CHECKS,
            "161 delete pod p1 --force --grace-period=0": "pods do not get the token of a service account",
            "170 delete -f crd.yaml": "a CRD and its objects are deleted at once",
        },
    },
}
