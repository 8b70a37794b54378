"""Votes of an audience: guests choose the better clip on their phones, and the majority is one answer."""
