"""Draws figure specs on the screen: the only place that knows the screen's logarithms."""
