"""Finds the memory of an operator by an import inside a function."""


def memory() -> set[str]:
    """Return what the operator remembers."""
    from tests.testing.remembering import copied  # noqa: PLC0415 - what a test is about

    return copied
