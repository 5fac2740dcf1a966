"""PostgreSQL: protected snapshots as tables of a schema of ours, read in transactions that can change nothing."""
