"""Registration of reviews, which ``verbs/reviews.py`` answers and which are never stored."""

from steersman.apiserver.builtin.kind import BuiltinKind

_AUTHENTICATION = "authentication.k8s.io"
_AUTHORIZATION = "authorization.k8s.io"
KINDS = (
    BuiltinKind(_AUTHENTICATION, "SelfSubjectReview"),
    BuiltinKind(_AUTHENTICATION, "TokenReview"),
    BuiltinKind(_AUTHORIZATION, "LocalSubjectAccessReview"),
    BuiltinKind(_AUTHORIZATION, "SelfSubjectAccessReview"),
    BuiltinKind(_AUTHORIZATION, "SelfSubjectRulesReview"),
    BuiltinKind(_AUTHORIZATION, "SubjectAccessReview"),
)
