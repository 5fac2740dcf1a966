"""The tables of a FROM put together: joins, and what is written as if it were one, values of queries and windows."""
