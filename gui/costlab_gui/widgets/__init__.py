"""What pages and the window are made of, one widget per file."""
