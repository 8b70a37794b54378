"""Clock whose time a test sets."""


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now
