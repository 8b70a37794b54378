"""Draft of the config of a new session: its settings, their defaults, and problems. No widgets."""

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from app.command_line import DEFAULT_TASK
from app.session.factory import WINDOW_SETTINGS, session_config, task_defaults
from core.config import Config, PersonConfig
from core.errors import UserError

PLAIN = ("task", "teacher", "seed", "device")
"""Settings with a field of their own in the form; all others but HIDDEN are advanced."""
HIDDEN = (
    *("labels", "query.taken", "rollout.demonstrate_every", "rollout.captured_envs", "reward.target"),
    *(f"person.{field.name}" for field in dataclasses.fields(PersonConfig)),
)
"""Settings that no form shows: a person does not choose the number of answers in advance, the program sets others, and
true returns and the simulated person are for runs without a window."""
_LEADING = ("labels", "policy.algorithm")
"""Settings that the defaults of others follow."""


@dataclass(frozen=True)
class Setting:
    """One field of the config. `name` is as in config.replaced; low and high are its bounds."""

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
        """Return whether each of these words is in the name, the help or the paper's section."""
        text = f"{self.name} {self.title} {self.help} {self.paper}".lower()
        return all(word in text for word in words.lower().split())


@dataclass(frozen=True)
class Section:
    """Group of settings. The first section has the session's own."""

    name: str
    about: str
    settings: tuple[Setting, ...]


@cache
def sections() -> tuple[Section, ...]:
    """Return every field of the config except the plain and the hidden ones."""
    default, own, nested = Config(), [], []
    for field in dataclasses.fields(Config):
        value = getattr(default, field.name)
        if dataclasses.is_dataclass(value):
            names = {f"{field.name}.{f.name}": f for f in dataclasses.fields(value)}
            settings = tuple(_setting(f, name, value) for name, f in names.items() if name not in HIDDEN)
            if not settings:
                continue
            about = re.split(r"\.\s+(?=[A-Z])", " ".join((type(value).__doc__ or "").split()))[0]
            nested.append(Section(field.name, about.rstrip(".") + ".", settings))
        elif field.name not in (*PLAIN, *HIDDEN):
            own.append(_setting(field, field.name, default))
    return (Section("session", "The whole session.", tuple(own)), *nested)


@cache
def setting(name: str) -> Setting:
    """Return any field of the config by its name, plain ones included."""
    section, _, inner = name.rpartition(".")
    owner = getattr(Config(), section) if section else Config()
    return _setting({f.name: f for f in dataclasses.fields(owner)}[inner], name, owner)


def _setting(field: dataclasses.Field[Any], name: str, owner: Any) -> Setting:
    about = field.metadata
    return Setting(
        name,
        about["help"],
        about.get("paper", ""),
        getattr(owner, field.name),
        about.get("integer", False),
        tuple(about.get("options", ())),
        about.get("low", -math.inf),
        about.get("high", math.inf),
    )


class ConfigDraft:
    """Changes by the person, on top of the task's defaults.

    config: the resulting config; None if there is a `problem`, one sentence
    wrong: by name, a sentence for each setting that is out of bounds or causes the problem
    """

    def __init__(self, task: str, changes: Mapping[str, Any] | None = None) -> None:
        self.task, self.changes = task, dict(changes or {})
        self._defaults = _flat(task_defaults(DEFAULT_TASK, {}))
        self.config: Config | None = None
        self.problem = ""
        self.wrong: dict[str, str] = {}
        self._check()

    def set_task(self, task: str) -> None:
        """Take the defaults of another task; the changes stay."""
        self.task = task
        self._check()

    def set(self, name: str, value: Any) -> None:
        self.changes[name] = value
        self._check()

    def reset(self, names: Iterable[str]) -> None:
        """Return settings to the task's defaults."""
        for name in names:
            self.changes.pop(name, None)
        self._check()

    def value(self, name: str) -> Any:
        return self.changes[name] if name in self.changes else self._defaults[name]

    def default_source(self, name: str) -> str:
        """Return the source of a default that differs from the config's own: 'task', 'window', or '' if it does not."""
        if name in self.changes or self._defaults[name] == setting(name).default:
            return ""
        return "window" if name in WINDOW_SETTINGS else "task"

    def _check(self) -> None:
        self.config, self.problem = None, ""
        try:
            leading = {name: self.changes[name] for name in _LEADING if name in self.changes}
            try:
                self._defaults = _flat(task_defaults(self.task, leading))
            except UserError:  # one bad value must not hide the other defaults
                self._defaults = _flat(task_defaults(self.task, {}))
            self.config = session_config(self.task, self.changes)
        except UserError as error:
            self.problem = str(error)
        found = {name: self._problem_of(name) for name in self.changes} if self.problem else {}
        self.wrong = {name: sentence for name, sentence in found.items() if sentence}

    def _problem_of(self, name: str) -> str:
        """Sentence about this change if it is out of bounds, or if there would be no problem without it; '' otherwise."""
        by_itself = self._refusal({name: self.changes[name]})
        if by_itself.startswith(f"{name} is "):
            return by_itself
        others = {other: value for other, value in self.changes.items() if other != name}
        return "" if self._refusal(others) else self.problem

    def _refusal(self, changes: Mapping[str, Any]) -> str:
        try:
            session_config(self.task, changes)
        except UserError as error:
            return str(error)
        return ""


def _flat(config: Config) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, value in config.to_dict().items():
        result |= {f"{name}.{inner}": v for inner, v in value.items()} if isinstance(value, dict) else {name: value}
    return result
