"""Price and expected error of a question, from its plan and declarations alone."""
