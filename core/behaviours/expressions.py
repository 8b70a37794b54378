"""Expressions of a step, such as "clip(height, 0, 1) - 0.1 * abs(pitch_rate)", compiled to functions of signals.

Python's parser reads them, but only the nodes handled here are accepted, and Python evaluates none of them. A condition
has the value 1 or 0; where one is expected, a quantity such as height is rejected. A division by 0 and an undefined power
or root (sqrt(-1)) give 0. NaN in a result becomes 0, and results are clipped to [-LARGEST, LARGEST].
"""

from __future__ import annotations

import ast
import functools
import math
import operator
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from core.behaviours.signals import CONDITIONS, FAMILIES, PLAIN, SignalNames, Signals, write
from core.behaviours.tolerance import REACH_ZERO, SHAPES, tolerance
from core.errors import UserError
from core.input_checks import suggestion
from core.types import Float64

LARGEST = 1e6
"""Largest absolute value of a result."""
MAX_TEXT, MAX_DEPTH, MAX_NUMBER = 500, 200, 1e9
"""Most characters of an expression, most levels of its syntax tree, and the largest number in it."""

Value = Any
"""A float, or an array (N,)."""
Function = Callable[[Any], Value]
"""Maps the signals of a step to a value (N,), or to a float if the expression names no signal."""


def _zero_if_undefined(values: Value) -> Value:
    """Return the values with NaN replaced by 0."""
    return np.where(np.isnan(values), 0.0, values)


def _quotient(left: Value, right: Value) -> Value:
    """Return left / right, and 0 where `right` is 0."""
    return np.where(np.equal(right, 0), 0.0, _zero_if_undefined(np.divide(left, right)))


def _power(base: Value, exponent: Value) -> Value:
    """Return base ** exponent, and 0 where that is NaN or a division by 0."""
    return np.where(np.equal(base, 0) & (exponent < 0), 0.0, _zero_if_undefined(np.power(base, exponent)))


FUNCTIONS: dict[str, tuple[int, int, Callable[..., Value]]] = {
    "abs": (1, 1, np.abs),
    "min": (2, 8, lambda *values: functools.reduce(np.minimum, values)),
    "max": (2, 8, lambda *values: functools.reduce(np.maximum, values)),
    "clip": (3, 3, lambda value, low, high: np.minimum(np.maximum(value, low), high)),
    "sqrt": (1, 1, lambda value: _zero_if_undefined(np.sqrt(value))),
    "exp": (1, 1, np.exp),
    "sin": (1, 1, np.sin),
    "cos": (1, 1, np.cos),
    "tolerance": (3, 6, tolerance),
}
"""Functions by name: (fewest arguments, most arguments, implementation)."""
_QUOTED = re.compile(r"""\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'""")
_BRACKET = re.compile(r"\b([a-z_]+)\s*\[\s*")
"""Matches the family of a signal and the opening bracket before its name."""
_CONSTANTS = {"pi": math.pi, "inf": math.inf}
EPISODE_FUNCTIONS = ("turns", "share", "mean", "longest", "last", "count", "highest", "lowest")
"""Functions of a whole episode, in the order of core.behaviours.figures; an expression of a step can't use them."""
_OPERATIONS: dict[type[ast.AST], Callable[..., Value]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _quotient,
    ast.Pow: _power,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: lambda value: np.logical_not(finite(value)) * 1.0,
    ast.And: lambda left, right: np.logical_and(finite(left), finite(right)) * 1.0,
    ast.Or: lambda left, right: np.logical_or(finite(left), finite(right)) * 1.0,
    ast.Lt: lambda left, right: np.less(left, right) * 1.0,
    ast.LtE: lambda left, right: np.less_equal(left, right) * 1.0,
    ast.Gt: lambda left, right: np.greater(left, right) * 1.0,
    ast.GtE: lambda left, right: np.greater_equal(left, right) * 1.0,
    ast.Eq: lambda left, right: np.equal(left, right) * 1.0,
    ast.NotEq: lambda left, right: np.not_equal(left, right) * 1.0,
}


_SLIPS: Mapping[type, str] = {
    ast.Tuple: "a comma separates arguments of functions only: write 0.5, not 0,5.",
    ast.BitAnd: "write and instead of &.",
    ast.BitOr: "write or instead of |.",
    ast.BitXor: "write ** instead of ^.",
    ast.Invert: "write not instead of ~.",
    ast.IfExp: "if and else can't be used: multiply by the condition, as in height * (up > 0).",
}
"""Advice for syntax of other languages, by the type of the node or of its operator."""


_INSTEAD = {
    **{"&&": "and", "||": "or", "!": "not", "=": "==", "=>": ">=", "=<": "<=", "AND": "and", "OR": "or", "NOT": "not"},
    **{"≥": ">=", "≤": "<=", "≠": "!=", "−": "-", "×": "*", "÷": "/", "²": "**2", "³": "**3"},
}
_FOREIGN = re.compile(r"&&|\|\||=>|=<|[≥≤≠−×÷²³]|\b(?<!\[)(?:AND|OR|NOT)\b(?!\])|!(?!=)|(?<![=!<>:])=(?!=)")
"""Matches operators of other languages; _INSTEAD has the replacement of each."""
_ARGUMENT = re.compile(r"[(,]\s*(\w+)\s*$")
"""Matches the name of a keyword argument before its =."""
_WORDS = {"true": "1", "True": "1", "false": "0", "False": "0"}


@dataclass(frozen=True)
class Expression:
    """A compiled expression of a step."""

    signals: frozenset[str]
    """Names of the signals that it reads."""
    function: Function

    def __call__(self, signals: Signals) -> Float64:
        """Return the values (N,), finite."""
        with np.errstate(all="ignore"):
            return finite(np.broadcast_to(np.asarray(self.function(signals), np.float64), (signals.count,)))


def _blank(text: str) -> str:
    """Return the text with each quoted string replaced by as many underscores."""
    return _QUOTED.sub(lambda quoted: "_" * len(quoted[0]), text)


def finite(values: Float64) -> Float64:
    """Return the values with NaN replaced by 0, clipped to [-LARGEST, LARGEST]."""
    return np.clip(np.nan_to_num(values, nan=0.0, posinf=LARGEST, neginf=-LARGEST), -LARGEST, LARGEST)


def compile_expression(text: str, names: SignalNames, place: str = "The expression") -> Expression:
    """Compile an expression of a step. Raises UserError, one sentence with the column, if it is invalid.

    names: names of the robot's joints, actuators and geoms
    place: what error messages call the expression
    """
    compiler = Compiler(text, names, place)
    return Expression(frozenset(compiler.signals), compiler.function)


class Compiler:
    """Turns the text of an expression into `function`, and collects the names of the `signals` that it reads."""

    known = (*PLAIN, *FAMILIES, *FUNCTIONS, *_CONSTANTS)
    """Words among which error messages look for a similar one when a word is unknown."""
    example = "an expression, such as height"
    """Advice in error messages about an empty text."""

    def __init__(self, text: str, names: SignalNames, place: str) -> None:
        self.names, self._place = names, place
        self.signals: set[str] = set()
        if not isinstance(text, str) or not text.strip():
            raise UserError(f"{place} is empty: write {self.example}.")
        if len(text) > MAX_TEXT:
            raise UserError(f"{place} has {len(text)} characters: give at most {MAX_TEXT}.")
        self._skipped = len(text) - len(text.lstrip())
        bare = _blank(text)
        self._require_quotes(text, bare)
        comment = bare.find("#")
        if comment >= 0:  # the lines are joined, so Python would ignore all that follows
            raise UserError(f"{place} has a # at column {comment + 1}: leave comments out.")
        self._text = " ".join(text.strip().splitlines())
        self._refuse_other_languages(bare)
        tree = self._parse()
        self._require_shallow(tree)
        self.function = self.read(tree)

    def _parse(self) -> ast.expr:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # such as the one about 1or 2
                return ast.parse(
                    self._text + "\n", mode="eval"
                ).body  # without \n, the error of unfinished text is at column 1
        except SyntaxError as error:
            if found := re.search(r"\bif\b", _blank(self._text)):
                column = found.start() + 1 + self._skipped
                raise UserError(f"{self._place}, column {column}: {_SLIPS[ast.IfExp]}") from error
            column = min(max(1, error.offset or 1), len(self._text) + 1) + self._skipped
            raise UserError(f"{self._place} can't be read at column {column}: check the brackets and signs.") from error
        except (ValueError, MemoryError, RecursionError) as error:
            raise UserError(f"{self._place} can't be read: write a shorter one, in plain characters.") from error

    def _require_quotes(self, text: str, bare: str) -> None:
        """Raise UserError for a name in brackets that needs quotes but has none. bare: the text without quoted names"""
        for found in _BRACKET.finditer(bare):
            family, rest = found[1], text[found.end() :]
            if family not in FAMILIES or rest.startswith(("'", '"')):
                continue
            for name in self.names.of(family):
                quoted = write(family, name)
                if quoted != f"{family}[{name}]" and re.match(re.escape(name) + r"\s*\]", rest):
                    place = f"{self._place}, column {found.end() + 1}"
                    raise UserError(f"{place}: the name has to be quoted: write {quoted}.")

    def _require_shallow(self, tree: ast.AST) -> None:
        """Raise UserError for a tree of more than MAX_DEPTH levels: each takes space on the stack."""
        level = [tree]
        for _ in range(MAX_DEPTH):
            level = [child for node in level for child in ast.iter_child_nodes(node)]
            if not level:
                return
        raise UserError(f"{self._place} has more than {MAX_DEPTH} nested operations: write a simpler one.")

    def _refuse_other_languages(self, bare: str) -> None:
        """Raise UserError, with advice, for operators of other languages. bare: the text without quoted names"""
        found = _FOREIGN.search(bare)
        if found:
            sign = found[0]
            named = sign == "=" and _ARGUMENT.search(bare[: found.start()])
            advice = f"leave out {named[1]}=." if named else f"write {_INSTEAD[sign]} instead of {sign}."
            raise UserError(f"{self._place}, column {found.start() + 1}: {advice}")

    def fail(self, node: ast.AST, sentence: str) -> NoReturn:
        """Raise UserError with the sentence and the column of the node."""
        before = self._text.encode()[: getattr(node, "col_offset", 0)]
        column = len(before.decode(errors="ignore")) + 1 + self._skipped
        raise UserError(f"{self._place}, column {column}: {sentence}")

    def read(self, node: ast.expr) -> Function:
        """Return the function of a node."""
        match node:
            case ast.Constant():
                return self._constant(node)
            case ast.Name(id=name):
                return self.name(node, name)
            case ast.Subscript(value=ast.Name(id=family)):
                return self._bracketed(node, family)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self.call(node, name, arguments)
            case ast.UnaryOp(op=sign, operand=operand) if type(sign) in _OPERATIONS:
                read = self.condition if isinstance(sign, ast.Not) else self.read
                return _apply(_OPERATIONS[type(sign)], read(operand))
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATIONS:
                return _apply(_OPERATIONS[type(sign)], self.read(left), self.read(right))
            case ast.BoolOp(op=sign, values=parts):
                conditions = [self.condition(part) for part in parts]
                return functools.reduce(functools.partial(_apply, _OPERATIONS[type(sign)]), conditions)
            case ast.Compare(left=first, ops=signs, comparators=others):
                return self._comparison(node, signs, [self.read(part) for part in (first, *others)])
        self._refuse(node)

    def condition(self, node: ast.expr) -> Function:
        """Return the function of a condition. Raises UserError for a number without a comparison, which is nearly always true."""
        function = self.read(node)
        if not _is_condition(node):
            written = ast.unparse(node)
            of_condition = any(map(_is_condition, ast.walk(node)))  # airborne + 1 > 0.5 always holds
            advice = "compare it with < or >" if of_condition else f"compare it, as in {written} > 0.5"
            self.fail(node, f"{written} is a number, not a condition: {advice}.")
        return function

    def _refuse(self, node: ast.AST) -> NoReturn:
        slip = _SLIPS.get(type(getattr(node, "op", node)))
        if slip is not None:
            self.fail(self._sign(node) if isinstance(node, ast.BinOp) else node, slip)
        known = ", ".join(self.functions())
        self.fail(
            node,
            f"only numbers, signals, + - * / **, comparisons, and, or, not and the functions {known} can be used.",
        )

    def _sign(self, node: ast.BinOp) -> ast.AST:
        """Return a node at the position of an operator, which has one character."""
        before = self._text.encode()[: node.right.col_offset].rstrip(b" (")
        return ast.Pass(lineno=1, col_offset=len(before) - 1)

    def _comparison(self, node: ast.AST, signs: list[ast.cmpop], values: list[Function]) -> Function:
        """Return the function of a < b, or of a < b < c, which is a < b and b < c."""
        if any(type(sign) not in _OPERATIONS for sign in signs):
            self._refuse(node)
        pairs = zip(signs, values, values[1:], strict=False)
        conditions = [_apply(_OPERATIONS[type(sign)], one, other) for sign, one, other in pairs]
        return functools.reduce(functools.partial(_apply, _OPERATIONS[ast.And]), conditions)

    def functions(self) -> tuple[str, ...]:
        """Return the names of the functions that may be called."""
        return tuple(FUNCTIONS)

    def _constant(self, node: ast.Constant) -> Function:
        value = node.value
        if isinstance(value, bool):
            self.fail(node, f"write {_WORDS[str(value)]} instead of {value}.")
        if not isinstance(value, int | float):
            self.fail(node, "only numbers and signals can be used.")
        if not abs(value) <= MAX_NUMBER:  # before the conversion, which a huge integer would fail
            self.fail(node, f"the number is larger than {MAX_NUMBER:g}.")
        number = np.float64(value)
        return lambda signals: number

    def name(self, node: ast.AST, name: str) -> Function:
        """Return the function of a signal or a constant without brackets."""
        if name in _CONSTANTS:
            return lambda signals: _CONSTANTS[name]
        if name in PLAIN:
            return self._signal(name)
        if name in FAMILIES:
            found = self.names.of(name)
            self.fail(
                node, f"{name} needs a name in brackets, such as {write(name, found[0]) if found else name + '[]'}."
            )
        if name in self.functions():
            self.fail(node, f"{name} is a function: write {name}(...).")
        if name in _WORDS:
            self.fail(node, f"write {_WORDS[name]} instead of {name}.")
        self.fail(node, f"there is no signal {name}: {suggestion(name, self.known)}")

    def _bracketed(self, node: ast.Subscript, family: str) -> Function:
        if family not in FAMILIES:
            if family in (*FUNCTIONS, *EPISODE_FUNCTIONS):
                self.fail(node, f"{family} is a function: write {family}(...).")
            what = (
                f"takes no name in brackets: write {family}."
                if family in PLAIN
                else f"is unknown: {suggestion(family, FAMILIES)}"
            )
            self.fail(node, f"{family} {what}")
        match node.slice:
            case ast.Name(id=name) | ast.Constant(value=str(name)):
                if name in self.names.of(family):
                    return self._signal(write(family, name))
                self.fail(node.slice, f"there is no {family} of {name}: {suggestion(name, self.names.of(family))}")
        written = ast.get_source_segment(self._text, node.slice) or ""
        self.fail(node.slice, f"{family} needs one name in brackets: {suggestion(written, self.names.of(family))}")

    def _signal(self, name: str) -> Function:
        self.signals.add(name)
        return operator.itemgetter(name)

    def require_arguments(self, node: ast.AST, name: str, fewest: int, most: int, arguments: list[ast.expr]) -> None:
        """Fail if a function does not take so many arguments."""
        if fewest <= len(arguments) <= most:
            return
        number = f"{fewest}" if fewest == most else f"{fewest} {'or' if most == fewest + 1 else 'to'} {most}"
        advice = " Write 0.5, not 0,5." if len(arguments) > most and any(map(_is_whole, arguments[1:])) else ""
        self.fail(node, f"{name} takes {number} value{'s' * (most > 1)}, not {len(arguments)}.{advice}")

    def call(self, node: ast.AST, name: str, arguments: list[ast.expr]) -> Function:
        """Return the function of a call."""
        if name in EPISODE_FUNCTIONS:
            self.fail(node, f"{name} needs a whole episode: use only functions of a single step here.")
        inside = ", ".join(map(ast.unparse, arguments))
        if name in PLAIN and not (inside and name in FAMILIES):
            self.fail(node, f"{name} is a signal, not a function: write {name}.")
        if name in FAMILIES:
            if not inside:
                self.name(node, name)
            self.fail(node, f"{name} is not a function: write {name}[{inside}], in square brackets.")
        if name not in FUNCTIONS:
            self.fail(node, f"there is no function {name}: {suggestion(name, self.functions())}")
        fewest, most, function = FUNCTIONS[name]
        self.require_arguments(node, name, fewest, most, arguments)
        if name in ("clip", "tolerance"):
            self._check_bounds(name, arguments)
        if name == "tolerance":
            shape = "gaussian"
            if len(arguments) == most:
                *arguments, last = arguments
                shape = self._shape(last)
                function = functools.partial(function, shape=shape)
            self._check_tolerance(arguments, shape)
        return _apply(function, *(self.read(argument) for argument in arguments))

    def _check_bounds(self, name: str, arguments: list[ast.expr]) -> None:
        """Raise UserError if the bounds, the second and third argument, are constants in the wrong order."""
        low, high = map(_constant_of, arguments[1:3])
        if low is not None and high is not None and low > high:
            self.fail(arguments[1], f"the lower bound of {name} is above its upper one.")

    def _check_tolerance(self, arguments: list[ast.expr], shape: str) -> None:
        """Raise UserError for a shape in another place, or a constant margin or value that is out of range."""
        for argument in arguments:
            if isinstance(argument, ast.Name) and argument.id in SHAPES:
                self.fail(
                    argument, "the shape of tolerance is its sixth value: give margin and value at the margin first."
                )
        margin, value = [*map(_constant_of, arguments[3:]), None, None][:2]
        if margin is not None and margin < 0:
            self.fail(arguments[3], "the margin of tolerance is less than 0.")
        if value is not None and not (0 < value < 1 or (value == 0 and shape in REACH_ZERO)):
            some = f"{', '.join(REACH_ZERO[:-1])} and {REACH_ZERO[-1]}"
            self.fail(
                arguments[4],
                f"the value of tolerance at its margin must be above 0 and below 1 (or 0, for {some}).",
            )

    def _shape(self, node: ast.expr) -> str:
        """Return the name of a shape, the last argument of `tolerance`. Raises UserError for any other node."""
        match node:
            case ast.Name(id=name) | ast.Constant(value=str(name)) if name in SHAPES:
                return name
            case ast.Name(id=name):
                self.fail(node, f"tolerance has no shape {name}: {suggestion(name, tuple(SHAPES))}")
        self.fail(node, f"the last value of tolerance is a shape: choose one of {', '.join(SHAPES)}.")


def _is_condition(node: ast.AST) -> bool:
    """Return whether the value of a node is positive where a condition is true, and 0 where it is false."""
    match node:
        case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.Name(id=name) | ast.Subscript(value=ast.Name(id=name)):
            return name in CONDITIONS
        case ast.BinOp(left=ast.Constant(value=int() | float() as factor), op=ast.Mult(), right=part):
            return factor > 0 and _is_condition(part)
        case ast.BinOp(left=part, op=ast.Mult() | ast.Pow(), right=ast.Constant(value=int() | float() as factor)):
            return factor > 0 and _is_condition(part)
        case ast.BinOp(left=left, op=ast.Mult() | ast.Add(), right=right):
            return _is_condition(left) and _is_condition(right)
        case ast.BinOp(left=ast.Constant(value=1), op=ast.Sub(), right=right):
            return _is_0_or_1(right)  # 1 - (airborne + airborne) is -1 where it should be 0
        case ast.Call(func=ast.Name(id="abs"), args=[ast.BinOp(left=left, op=ast.Sub(), right=right)]):
            return _is_condition(left) and _is_condition(right)
        case ast.Call(func=ast.Name(id="min" | "max"), args=arguments):
            return all(map(_is_condition, arguments))
    return False


def _is_whole(node: ast.AST) -> bool:
    """True for a whole number, such as the part of 0,5 after the comma."""
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def _is_0_or_1(node: ast.AST) -> bool:
    """Return whether the value of a node is 1 where a condition is true, and 0 where it is false."""
    match node:
        case ast.BinOp(op=ast.Add()) | ast.BinOp(left=ast.Constant(), op=ast.Mult()):
            return False
        case ast.BinOp(op=ast.Mult() | ast.Pow(), right=ast.Constant()):
            return False
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _is_0_or_1(left) and _is_0_or_1(right)
        case ast.Call(args=[ast.BinOp(left=left, op=ast.Sub(), right=right)]):  # abs(left - right)
            return _is_condition(node) and _is_0_or_1(left) and _is_0_or_1(right)
        case ast.Call(args=arguments):
            return _is_condition(node) and all(map(_is_0_or_1, arguments))
    return _is_condition(node)


def _constant_of(node: ast.expr) -> float | None:
    """Return the value of a node that is a number, possibly with a sign; None for any other node."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError):  # TypeError for {[]: 1}
        return None
    return value if isinstance(value, int | float) else None


def _apply(operation: Callable[..., Value], *functions: Function) -> Function:
    """Return the function that applies an operation to the results of others."""
    if len(functions) == 1:
        (only,) = functions
        return lambda signals: operation(only(signals))
    if len(functions) == 2:
        left, right = functions
        return lambda signals: operation(left(signals), right(signals))
    return lambda signals: operation(*(function(signals) for function in functions))
