"""CostLab's desktop app: formula, prediction and measurement on one plot, with sliders."""
