"""State of a training that answers drive."""

from __future__ import annotations

from app.labelling.training_course import TrainingCourse
from core.config import Config, replaced
from core.preferences.schedule import FINISHED, HOLDS


def test_what_was_reported_before_the_request_to_finish_arrived_does_not_end_the_finish() -> None:
    course = TrainingCourse(replaced(Config(), **{"query.schedule": "answers", "rollout.steps_per_answer": 1000}))
    course.reported(1000, 1.0, None)
    course.waited(HOLDS)
    assert course.holding and course.finishing is None
    course.finish()
    course.waited(HOLDS)
    course.reported(1500, 1.0, None)
    course.waited(HOLDS)
    assert course.finishing == 0.0
    course.reported(2000, 1.0, 0.5)
    course.waited(FINISHED)
    assert course.finished and course.finishing is None
    course.end_finish()
    course.waited(HOLDS)
    assert course.holding and not course.finish_asked
