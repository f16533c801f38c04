"""The command line: one file per command, each with ``add_parser`` and ``run(args) -> int``."""
