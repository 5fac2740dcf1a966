"""What an officer reads and decides: the statement of all questions, accounts frozen, changed and closed, backups."""
