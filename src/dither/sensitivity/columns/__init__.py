"""Columns of records, read record by record whatever holds them."""
