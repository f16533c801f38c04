"""Colours, fonts and icons: the only place that names any."""
