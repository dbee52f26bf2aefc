"""A pytest plugin with the settings of the processes that run the suite, for speed.

- The tests start hundreds of processes that import the same modules. Compiled modules are written even where the
  environment forbids that (``PYTHONDONTWRITEBYTECODE``), because compiling them again takes longer than most tests.
- The collected tests and the modules that they import are a million objects that live until the end. They are frozen,
  so that a garbage collection visits only what the tests create.
- Some tests wait for processes of their own. One worker more than there are cores works meanwhile, and a worker that is
  done takes tests from the others, because the longest take as long as a thousand short ones.
"""

import gc
import os
import sys

import pytest

#: New objects after which garbage is collected. Tests create few cycles, and none of them is large.
_OBJECTS_PER_COLLECTION = 20_000

#: From 3.14 on Hypothesis asks the collector who refers to its source of randomness, and frozen objects are not told.
_CAN_FREEZE = sys.version_info < (3, 14)

#: Whether a test has unfrozen the objects. Asking the collector how many are frozen takes milliseconds: it counts them.
_is_unfrozen = False


def unfreeze() -> None:
    """Make every object visible to the garbage collector until the end of this test."""
    global _is_unfrozen  # noqa: PLW0603 - as is the garbage collector
    gc.unfreeze()
    _is_unfrozen = True


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Allow idle workers to take tests from busy ones, unless another distribution was requested."""
    if getattr(config.option, "numprocesses", None) and config.option.dist == "no":
        config.option.dist = "worksteal"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """Return the number of workers for ``-n auto``, unless the environment has it."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores + 1


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
    """Freeze again after a test that needed every object."""
    if _is_unfrozen:
        _freeze()


def _freeze() -> None:
    global _is_unfrozen  # noqa: PLW0603 - see above
    gc.collect()
    if _CAN_FREEZE:
        gc.freeze()
    _is_unfrozen = False
