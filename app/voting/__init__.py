"""The votes of an audience: the rounds of votes, and widgets that show them."""
