"""A cluster with real Redis processes for tests, and scenarios that run on it."""
