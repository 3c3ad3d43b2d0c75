"""A verdict as text, Markdown, HTML, JSON, picture and bundle."""
