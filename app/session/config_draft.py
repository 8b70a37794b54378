"""A new session as it is being filled in: what may be set, what suits the task, and what contradicts. No Qt."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from app.session.factory import OF_WINDOW, session_config, suited
from core.config import Config
from core.errors import UserError

PLAIN = ("task", "teacher", "labels", "seed", "device")
"""What the form asks for by itself; everything else of the config is advanced."""
_LEADING = ("labels", "policy.algorithm")
"""Changes that others follow."""
TEACHERS = ("human", "oracle")


@dataclass(frozen=True)
class Setting:
    """One field of the config. `name` is that of config.replaced; low and high are its bounds, where it has any."""

    name: str
    help: str
    paper: str
    default: Any
    whole: bool = False
    options: tuple[str, ...] = ()
    low: float = -math.inf
    high: float = math.inf

    @property
    def title(self) -> str:
        return self.name.rpartition(".")[2].replace("_", " ")

    def matches(self, words: str) -> bool:
        """Whether all of these words are in what is to be read of it."""
        text = f"{self.name} {self.title} {self.help} {self.paper}".lower()
        return all(word in text for word in words.lower().split())


@dataclass(frozen=True)
class Section:
    """Settings that belong together; the first section is the session's own."""

    name: str
    about: str
    settings: tuple[Setting, ...]


@cache
def sections() -> tuple[Section, ...]:
    """Every field of the config, but those that the form asks for by itself."""
    default, own, nested = Config(), [], []
    for field in dataclasses.fields(Config):
        value = getattr(default, field.name)
        if dataclasses.is_dataclass(value):
            inside = tuple(_setting(f, f"{field.name}.{f.name}", value) for f in dataclasses.fields(value))
            nested.append(Section(field.name, _first_sentence(type(value).__doc__), inside))
        elif field.name not in PLAIN:
            own.append(_setting(field, field.name, default))
    return (Section("session", "The whole session.", tuple(own)), *nested)


def setting(name: str) -> Setting:
    """Any field of the config by its name, the plain ones too."""
    section, _, inner = name.rpartition(".")
    place = getattr(Config(), section) if section else Config()
    return _setting({f.name: f for f in dataclasses.fields(place)}[inner], name, place)


def _setting(field: dataclasses.Field[Any], name: str, place: Any) -> Setting:
    told = field.metadata
    return Setting(
        name,
        told["help"],
        told.get("paper", ""),
        getattr(place, field.name),
        told.get("integer", False),
        tuple(told.get("options", ())),
        told.get("low", -math.inf),
        told.get("high", math.inf),
    )


def _first_sentence(text: str | None) -> str:
    return re.split(r"\.\s+(?=[A-Z])", " ".join((text or "").split()))[0].rstrip(".") + "."


class ConfigDraft:
    """What the person has set so far, on top of what suits the task.

    config: as it would be made; None where `problem`, one sentence, says why it can't be
    wrong: names of the settings that are out of their bounds by themselves
    """

    def __init__(self, task: str, changes: Mapping[str, Any] | None = None) -> None:
        self.task, self.changes = task, dict(changes or {})
        self._suited = _flat(suited("hopper-backflip", {}))
        self.config: Config | None = None
        self.problem = ""
        self.wrong: frozenset[str] = frozenset()
        self._check()

    def set_task(self, task: str) -> None:
        """Keeps what the person has set; what suits the task changes with it."""
        self.task = task
        self._check()

    def set(self, name: str, value: Any) -> None:
        self.changes[name] = value
        self._check()

    def reset(self, *names: str) -> None:
        """Back to what suits the task; all settings where none is named."""
        for name in names or tuple(self.changes):
            self.changes.pop(name, None)
        self._check()

    def value(self, name: str) -> Any:
        return self.changes[name] if name in self.changes else self._suited[name]

    def suits(self, name: str) -> str:
        """What wants another value than the config's default: 'task' or 'window'; '' where the default stands."""
        if name in self.changes or self._suited[name] == setting(name).default:
            return ""
        return "window" if name in OF_WINDOW else "task"

    def _check(self) -> None:
        self.config, self.problem = None, ""
        try:
            self._suited = self._suited_values()
            self.config = session_config(self.task, self.changes)
        except UserError as error:
            self.problem = str(error)
        self.wrong = frozenset(name for name in self.changes if self.problem and self._is_wrong(name))

    def _suited_values(self) -> dict[str, Any]:
        """What is out of bounds among the changes must not keep the rest from being shown."""
        leading = {name: self.changes[name] for name in _LEADING if name in self.changes}
        try:
            return _flat(suited(self.task, leading))
        except UserError:
            return _flat(suited(self.task, {}))

    def _is_wrong(self, name: str) -> bool:
        try:
            session_config(self.task, {name: self.changes[name]})
        except UserError:
            return True
        return False


def _flat(config: Config) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, value in config.to_dict().items():
        result |= {f"{name}.{inner}": v for inner, v in value.items()} if isinstance(value, dict) else {name: value}
    return result
