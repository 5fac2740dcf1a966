"""TRUSTED. What the ledger has on disk: private files, the SQLite tables, and the anchor kept elsewhere."""
