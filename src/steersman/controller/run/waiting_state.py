"""Why a key that is neither ready nor running does not run."""

from datetime import datetime

from steersman.controller.keys.key_state import KeyState, revision_of
from steersman.controller.recording.run_trace import named
from steersman.history import records as history
from steersman.history.records import KeyPhase
from steersman.informer.record import Record


def waiting_state(state: KeyState | None, record: Record, until: datetime | None, now: float) -> history.KeyState:
    """Return why a key does not run, or that it has nothing to do; ``until`` is when it runs again."""
    if state is None:
        return history.KeyState(KeyPhase.IDLE, until)
    if state.held is not None:
        return history.KeyState(KeyPhase.HELD, until)
    if state.given_up == revision_of(record) and not record.is_deleting:
        return history.KeyState(KeyPhase.GAVE_UP)
    if state.paused:
        return history.KeyState(KeyPhase.PAUSED, until, detail=state.paused)
    if state.awaited is not None:
        return history.KeyState(KeyPhase.WAITING, until, named(*state.awaited))
    if state.failures:
        return history.KeyState(KeyPhase.BACKING_OFF, until)
    if state.cool_until is not None and state.cool_until > now:
        return history.KeyState(KeyPhase.SLOWED_DOWN, until)
    return history.KeyState(KeyPhase.IDLE, until)
