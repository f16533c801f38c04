"""Tensor operations that several architectures share."""
