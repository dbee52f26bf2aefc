"""Simulation of operators that are programs, in any language: real time, real processes, SIGKILL.

Start with ``simulate_command`` in ``command_simulator.py``. ``command_run`` runs one plan: an embedded API server with
workload controllers and a simulated node in this process, and the program behind ``gateway``, where faults strike.
``traffic`` decides when everything is at rest, ``step_matching`` finds the steps of a plan again in a run whose steps
come in another order, and ``scenario_files`` reads scenarios that are written as manifests.
"""
