"""Where records come from: files, frames, Arrow and DuckDB's own tables, one reader each."""
