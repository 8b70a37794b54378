"""Selection of pairs, simulated teachers, the store of answers, and the review of answers."""
