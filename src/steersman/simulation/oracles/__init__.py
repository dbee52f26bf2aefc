"""What is wrong with a run: ``judge`` compares it with an undisturbed one, ``end_states`` normalises the ends."""
