"""From syntax to row expressions, one family a file; every one of them is total."""
