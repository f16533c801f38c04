"""The desktop app of CostLab (not part of this release yet)."""
