"""Measures a device's rates and keeps them. Importing this package needs no torch; workers do."""
