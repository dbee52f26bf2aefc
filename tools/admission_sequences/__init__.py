"""The sequences that ``tools.record_admission`` runs, in order."""

from tools.admission_sequences import access, conversion, policies, webhooks
from tools.admission_sequences.sequence import SEQUENCES

for _part in (access, webhooks, conversion, policies):
    _part.build()

__all__ = ["SEQUENCES"]
