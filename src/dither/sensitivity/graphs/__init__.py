"""Statistics of graphs, and the graphs themselves."""
