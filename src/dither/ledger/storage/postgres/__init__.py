"""TRUSTED. The ledger in a PostgreSQL database: for several processes, and for several hosts."""
