"""From characters to trusted syntax: limits before parsing, an allow-list, other dialects, advice."""
