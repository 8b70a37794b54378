"""Batched environments: many at once in one C++ call, so that Python is rarely held."""
