"""What is declared: columns, tables, limits and names, and the file that keeps them."""
