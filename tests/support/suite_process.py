"""A pytest plugin with the settings of the processes that run the suite, for speed.

- The tests start hundreds of processes that import the same modules. Compiled modules are written even where the
  environment forbids that (``PYTHONDONTWRITEBYTECODE``), because compiling them again takes longer than most tests.
- The collected tests and the modules that they import are a million objects that live until the end. They are frozen,
  so that a garbage collection visits only what the tests create.
"""

import gc
import os
import sys

import pytest

#: New objects after which garbage is collected. Tests create few cycles, and none of them is large.
_OBJECTS_PER_COLLECTION = 20_000

#: Python 3.12 itself freezes a few hundred objects when it starts.
_FROZEN_BY_PYTHON = 1000


def pytest_configure() -> None:
    """Write compiled modules, here and in processes that tests start; collect no garbage until all tests are known."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    gc.disable()


def pytest_collection_finish() -> None:
    """Freeze what was collected."""
    gc.set_threshold(_OBJECTS_PER_COLLECTION)
    gc.enable()
    _freeze()


@pytest.hookimpl(trylast=True)
def pytest_runtest_logfinish() -> None:
    """Freeze again after a test that had to see every object."""
    if gc.get_freeze_count() < _FROZEN_BY_PYTHON:
        _freeze()


def _freeze() -> None:
    gc.collect()
    gc.freeze()
