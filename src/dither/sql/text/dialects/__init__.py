"""Other dialects than PostgreSQL's: what each means, and nothing else, in PostgreSQL's words."""
