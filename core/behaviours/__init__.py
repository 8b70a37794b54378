"""Behaviours as data: files that say what is wanted of a robot, and the expressions in them. Imports numpy only."""
