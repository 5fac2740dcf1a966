"""The walk of a question and those beside it: who declares, who asks, and what they have spent."""
