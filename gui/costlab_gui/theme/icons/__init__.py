"""The app's own icons."""

from __future__ import annotations

from pathlib import Path

STYLE_FOLDER = Path(__file__).parent / "style"
"""Marks that the style sheet draws (arrows, ticks), one folder per theme."""
