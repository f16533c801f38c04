"""State, commands and messages of the app. No Qt: everything here is tested without a window."""
