"""Behaviours as data: files that describe what a robot should do, and the expressions in them. Imports numpy only."""
