"""State of labelling: pairs, answers, progress and the teacher. No widgets; imports workers and core only."""
