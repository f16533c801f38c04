"""What texts say about the cost of sequence models, answered from formulas and structure."""
