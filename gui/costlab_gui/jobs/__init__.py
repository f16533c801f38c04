"""Jobs: commands that run in child processes, so that the app never waits and never measures."""
