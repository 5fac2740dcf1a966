"""Evidence, not needed to answer a question: the auditor, the bug museum, the registry of mechanisms."""
