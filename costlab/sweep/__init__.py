"""Many points as one run: what to measure, in which order, and where to go on."""

from costlab.sweep.drift import order_drift
from costlab.sweep.plan import SweepPlan, expand
from costlab.sweep.run import new_run, resume, run_sweep

__all__ = ["SweepPlan", "expand", "new_run", "order_drift", "resume", "run_sweep"]
