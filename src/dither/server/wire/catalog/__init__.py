"""The catalog of PostgreSQL: tables of our own, made of declarations, read in a worker that has no files."""
