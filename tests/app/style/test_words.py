"""Words of the window: one for each thing, and none that was given up for a plainer one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
GIVEN_UP = {
    "Go on": "Continue",
    "Everything is kept": "Sessions save automatically",
    "Drawing ": "Loading preview…",
    " is imported": "Imported …",
    " is written": "Saved …",
    "root of every random stream": "same seed, same start",
    "suits the window": "Set for interactive use",
    "Acting.": "Simulation.",
    "tries out whatever is new": "Exploring before the first pair",
    "collecting the first segments": "Recording the first clips",
    "labels a minute": "Answers per minute",
    "stage has stopped": "Training has stopped",
    "stage stopped": "The clip renderer stopped",
    "go together": "agree",
    "Predicted with true": "Correlation of predicted and true reward",
    "The teacher: you": "You are now answering",
    "first fit to your answers": "Appears after the first fit",
    "New or open": "Start page",
    "frame forth": "Next frame",
    "Colours as the system": "Match system",
    "Film of the learning": "Export training film…",
    "answers by itself": "The computer is choosing",
    "What it does now": "Current behaviour",
}
"""Beginnings of texts that the window had, and what it says in their place."""


def literals(path: Path) -> Iterator[str]:
    """Texts in a file, without docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.value


def test_no_word_that_was_given_up_is_in_a_text_of_the_program() -> None:
    paths = [path for room in ("app", "core") for path in sorted((ROOT / room).rglob("*.py"))]
    assert len(paths) > 200
    texts = [(path.name, text) for path in paths for text in literals(path)]
    found = [(name, text, better) for name, text in texts for old, better in GIVEN_UP.items() if old in text]
    assert found == []
