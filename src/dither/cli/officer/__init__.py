"""Commands of a privacy officer: the life of accounts, signed grants, policy files that change, backups."""
