"""State of labelling: pairs, answers, progress and the teacher. No widgets; imports settings, workers and core only."""
