"""Apache Spark: protected snapshots as Parquet in a warehouse, read by sessions that are handed in."""
