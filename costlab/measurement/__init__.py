"""Measured runs in child processes. Importing this package needs no torch; workers do."""
