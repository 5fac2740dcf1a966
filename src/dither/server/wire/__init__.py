"""The PostgreSQL wire protocol: its clients ask the curator's service, by token, within the same limits."""
