"""One page of the window per file."""
