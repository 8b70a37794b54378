"""Figures of an episode, such as "turns(-pitch, airborne)" or "share(height < 0.8)", computed as the episode proceeds.

A figure is arithmetic on functions with a memory, whose arguments are expressions of a step:

mean(signal), highest(signal), lowest(signal), last(signal): over the steps of the episode
share(condition): share of the steps
longest(condition): longest uninterrupted time in seconds for which it is true
count(condition): number of times it became true
turns(angle), turns(angle, condition): full turns in the positive direction since the first step, or of the rotation while
    the condition is true. Turning back is subtracted, but a full turn stays counted. Roll, pitch and yaw are unwrapped
    for this, so they do not jump at pi.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.behaviours.expressions import EPISODE_FUNCTIONS, FUNCTIONS, Compiler, Function, finite
from core.behaviours.signals import ANGLES, FAMILIES, PLAIN, SignalNames, Signals
from core.errors import UserError
from core.types import Float64

_ALMOST = 1e-6
"""Fraction of a turn that may be missing from a full turn because of rounding."""


class Memory(ABC):
    """One function with a memory, for N environments. `arrays`: its state, (N,) each; all start at `initial`."""

    initial: Mapping[str, float] = {}
    arguments = (1, 1)
    """Fewest and most arguments."""
    condition: int | None = None
    """Index of the argument that must be a condition."""

    def __init__(self, functions: Sequence[Function], environments: int, step_seconds: float) -> None:
        """functions: one for each argument, from the signals of a step to values (N,)"""
        self._functions, self._count, self._step_seconds = functions, environments, step_seconds
        self.arrays = {name: np.full(environments, value) for name, value in self.initial.items()}

    def step(self, signals: Signals) -> None:
        self.add(*(self._values_of(function, signals) for function in self._functions))

    def _values_of(self, function: Function, signals: Signals) -> Float64:
        return finite(np.broadcast_to(np.asarray(function(signals), np.float64), (self._count,)))

    @abstractmethod
    def add(self, *values: Float64) -> None:
        """Take the arguments' values (N,) of one step into account."""

    @abstractmethod
    def value(self, index: int) -> float:
        """Return the function's value for environment `index`."""

    def restart(self, index: int) -> None:
        for name, value in self.initial.items():
            self.arrays[name][index] = value


class _Mean(Memory):
    initial = {"sum": 0.0, "steps": 0.0}

    def add(self, *values: Float64) -> None:
        self.arrays["sum"] += values[0]
        self.arrays["steps"] += 1

    def value(self, index: int) -> float:
        return float(self.arrays["sum"][index] / max(1.0, self.arrays["steps"][index]))


class _Share(_Mean):
    condition = 0

    def add(self, *values: Float64) -> None:
        super().add((values[0] != 0).astype(np.float64))


class _Last(Memory):
    initial = {"kept": 0.0}

    def add(self, *values: Float64) -> None:
        self.arrays["kept"][:] = values[0]

    def value(self, index: int) -> float:
        kept = float(self.arrays["kept"][index])
        return kept if np.isfinite(kept) else 0.0


class _Highest(_Last):
    initial = {"kept": -np.inf}

    def add(self, *values: Float64) -> None:
        np.maximum(self.arrays["kept"], values[0], out=self.arrays["kept"])


class _Lowest(_Last):
    initial = {"kept": np.inf}

    def add(self, *values: Float64) -> None:
        np.minimum(self.arrays["kept"], values[0], out=self.arrays["kept"])


class _Longest(Memory):
    condition = 0
    initial = {"now": 0.0, "best": 0.0}

    def add(self, *values: Float64) -> None:
        now, best = self.arrays["now"], self.arrays["best"]
        now[:] = np.where(values[0] != 0, now + 1, 0)
        np.maximum(best, now, out=best)

    def value(self, index: int) -> float:
        return float(self.arrays["best"][index]) * self._step_seconds


class _Count(Memory):
    condition = 0
    initial = {"before": 1.0, "events": 0.0}  # a condition true from the start has not become true

    def add(self, *values: Float64) -> None:
        now = (values[0] != 0).astype(np.float64)
        self.arrays["events"] += now * (1 - self.arrays["before"])
        self.arrays["before"][:] = now

    def value(self, index: int) -> float:
        return float(self.arrays["events"][index])


class _Unwrapped:
    """Signals of a step (core.behaviours.signals.Signals) with unwrapped angles: none jumps between pi and -pi."""

    def __init__(self, signals: Signals, arrays: Mapping[str, Float64]) -> None:
        """arrays: for each angle, NAME_before, its value in the previous step, and NAME_turns so far; updated in place"""
        self._signals, self._arrays, self.count = signals, arrays, signals.count
        self.wrapped = frozenset[str]()
        self._values: dict[str, Float64] = {}

    def __getitem__(self, name: str) -> Float64:
        if name not in self._signals.wrapped:
            return self._signals[name]
        if name not in self._values:
            angle, before, turns = self._signals[name], self._arrays[f"{name}_before"], self._arrays[f"{name}_turns"]
            turns -= np.where(np.isnan(before), 0.0, np.round((angle - before) / (2 * np.pi)))
            before[:] = angle
            self._values[name] = angle + 2 * np.pi * turns
        return self._values[name]


class _Turns(Memory):
    initial = {
        **{"before": np.nan, "turned": 0.0, "best": 0.0},
        **{f"{angle}_before": np.nan for angle in ANGLES},
        **{f"{angle}_turns": 0.0 for angle in ANGLES},
    }
    arguments = (1, 2)
    condition = 1

    def step(self, signals: Signals) -> None:
        angle, *conditions = self._functions
        unwrapped = self._values_of(angle, _Unwrapped(signals, self.arrays))
        self.add(unwrapped, *(self._values_of(condition, signals) for condition in conditions))

    def add(self, *values: Float64) -> None:
        angle, before, turned = values[0], self.arrays["before"], self.arrays["turned"]
        change = np.where(np.isnan(before), 0.0, angle - before) / (2 * np.pi)
        turned += change if len(values) == 1 else change * (values[1] != 0)
        before[:] = angle
        np.maximum(self.arrays["best"], turned, out=self.arrays["best"])

    def value(self, index: int) -> float:
        return float(np.floor(self.arrays["best"][index] + _ALMOST))


_KINDS = (_Turns, _Share, _Mean, _Longest, _Last, _Count, _Highest, _Lowest)
MEMORIES: dict[str, type[Memory]] = dict(zip(EPISODE_FUNCTIONS, _KINDS, strict=True))

_ANGLES = f"{', '.join(ANGLES)} or joint[NAME] of a hinge"
_OVER_AN_EPISODE = {"max": "highest", "min": "lowest"}


@dataclass(frozen=True)
class Figure:
    """A compiled figure of an episode."""

    signals: frozenset[str]
    """Names of the signals that it reads."""
    parts: tuple[tuple[type[Memory], tuple[Function, ...]], ...]
    """Its functions with a memory, and their arguments."""
    function: Function
    """Maps the values of the parts, floats, to the figure."""


class _FigureCompiler(Compiler):
    """Compiles functions with a memory, and the expressions of a step in their arguments."""

    known = (*Compiler.known, *MEMORIES)
    example = "a figure, such as mean(height)"

    def __init__(self, text: str, names: SignalNames, place: str) -> None:
        self.parts: list[tuple[type[Memory], tuple[Function, ...]]] = []
        self._inside = False
        super().__init__(text, names, place)
        if not self.parts or not self.signals:
            raise UserError(f"{place} is the same in every episode: write {self.example}.")

    def functions(self) -> tuple[str, ...]:
        return tuple(FUNCTIONS) if self._inside else (*MEMORIES, *FUNCTIONS)

    def name(self, node: ast.AST, name: str) -> Function:
        if not self._inside and name in (*PLAIN, *FAMILIES):
            self.fail(node, _of_a_step(name))
        return super().name(node, name)

    def read(self, node: ast.expr) -> Function:
        match node:
            case ast.Subscript(value=ast.Name(id=family)) if family in FAMILIES and not self._inside:
                self.fail(node, _of_a_step(ast.unparse(node)))
        return super().read(node)

    def call(self, node: ast.AST, name: str, arguments: list[ast.expr]) -> Function:
        if name in _OVER_AN_EPISODE and len(arguments) == 1 and not self._inside:
            instead = _OVER_AN_EPISODE[name]
            self.fail(node, f"{name} compares values of one step: write {instead}({ast.unparse(arguments[0])}).")
        if name not in MEMORIES or self._inside:
            return super().call(node, name, arguments)
        kind = MEMORIES[name]
        self.require_arguments(node, name, *kind.arguments, arguments)
        if name == "turns":
            self._require_angle(arguments[0])
        self._inside = True
        functions = tuple(
            (self.condition if number == kind.condition else self.read)(argument)
            for number, argument in enumerate(arguments)
        )
        self._inside = False
        self.parts.append((kind, functions))
        number_of_part = len(self.parts) - 1
        return lambda values: values[number_of_part]

    def _require_angle(self, node: ast.expr) -> None:
        """Raise UserError if a node is not an angle, or a sum of angles and numbers, each angle times a number."""
        match node:
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
                self._require_angle(operand)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
                self._require_angle(left)
                self._require_angle(right)
            case ast.BinOp(left=angle, op=ast.Mult() | ast.Div(), right=number) if not _reads_signals(number):
                self._require_angle(angle)
            case ast.BinOp(left=number, op=ast.Mult(), right=angle) if not _reads_signals(number):
                self._require_angle(angle)
            case ast.Name(id=name) if name in ANGLES:
                pass
            case ast.Subscript(value=ast.Name(id="joint"), slice=ast.Name(id=name) | ast.Constant(value=name)) if (
                name not in self.names.slides
            ):
                pass
            case _ if _reads_signals(node):
                what = ast.unparse(node)
                self.fail(node, f"turns counts full turns of an angle in rad, {_ANGLES}, not of {what}.")


def _reads_signals(node: ast.expr) -> bool:
    for part in ast.walk(node):
        match part:
            case ast.Name(id=name) if name in PLAIN:
                return True
            case ast.Subscript(value=ast.Name(id=family)) if family in FAMILIES:
                return True
    return False


def _of_a_step(signal: str) -> str:
    return f"{signal} has a value at each step: write mean({signal}), or another of {', '.join(MEMORIES)}."


def compile_figure(text: str, names: SignalNames, place: str = "The figure") -> Figure:
    """Compile a figure of an episode. Raises UserError, one sentence with the column, if it is invalid.

    names: names of the robot's joints, actuators and geoms
    place: what error messages call the figure
    """
    compiler = _FigureCompiler(text, names, place)
    return Figure(frozenset(compiler.signals), tuple(compiler.parts), compiler.function)


class EpisodeFigures:
    """Measure (core.tasks.base.Measure) of several figures by name, for N environments."""

    def __init__(self, figures: Mapping[str, Figure], environments: int, step_seconds: float) -> None:
        self._figures = dict(figures)
        self._memories = {
            name: [kind(functions, environments, step_seconds) for kind, functions in figure.parts]
            for name, figure in self._figures.items()
        }

    def step(self, physics: Any) -> None:
        """Take one step into account. physics: core.tasks.base.Physics, of which only `signals` is read"""
        with np.errstate(all="ignore"):
            for memories in self._memories.values():
                for memory in memories:
                    memory.step(physics.signals)

    def finish(self, index: int) -> dict[str, float]:
        """Return the figures of the episode that has ended in environment `index`, and start its next episode."""
        values = {}
        with np.errstate(all="ignore"):
            for name, figure in self._figures.items():
                result = figure.function([np.float64(memory.value(index)) for memory in self._memories[name]])
                values[name] = float(finite(np.asarray(result, np.float64)))
        for memories in self._memories.values():
            for memory in memories:
                memory.restart(index)
        return values

    def get_state(self) -> dict[str, Any]:
        return {
            f"{name}_{number}_{key}": array
            for name, memories in self._memories.items()
            for number, memory in enumerate(memories)
            for key, array in memory.arrays.items()
        }

    def set_state(self, arrays: Mapping[str, Any]) -> None:
        """Restore the state from `get_state`."""
        for name, array in self.get_state().items():
            array[:] = arrays[name]
