"""Draws figure specs on the screen: the only place that knows pyqtgraph and its logarithms."""
