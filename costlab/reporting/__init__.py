"""One record to many formats: HTML, Markdown, JSON, CSV."""
