"""The page's tabs; each module builds one, and has its handlers."""
