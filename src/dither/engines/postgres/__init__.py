"""PostgreSQL: snapshots as tables of a schema of ours, and live tables; read in transactions that change nothing."""
