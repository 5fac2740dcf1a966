"""DuckDB: protected snapshots as files, read by worker processes."""
