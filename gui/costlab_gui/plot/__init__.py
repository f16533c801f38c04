"""Draws figure specs on the screen: the only place that knows pixels and takes logarithms."""
