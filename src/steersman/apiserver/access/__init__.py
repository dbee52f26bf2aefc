"""The user of a request and their permissions: authentication, impersonation, RBAC, service-account tokens."""
