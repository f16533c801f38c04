"""Runs a module once on real tensors and records operators, storages, phases and module paths."""
