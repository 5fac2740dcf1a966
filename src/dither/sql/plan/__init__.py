"""What was asked and what an engine is to compute: question, plan nodes, measures."""
