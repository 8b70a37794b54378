"""Expressions in behaviour files: their values, and the places of their mistakes."""

from __future__ import annotations

import warnings

import pytest

from core.behaviours.expressions import MAX_TEXT, compile_expression
from core.behaviours.signals import SignalNames, write
from core.errors import UserError
from tests.core.given_signals import Given

NAMES = SignalNames(("knee", "left-hip", "left hip"), ("knee",), ("foot", "trunk", "shin_left", "foot_left"))


def value(text: str, **signals: list[float]) -> list[float]:
    result: list[float] = compile_expression(text, NAMES)(Given(**signals)).tolist()
    return result


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * height ** 2 / 4", [1.5, 9.0]),
        ("-height - +pitch", [-4.0, -3.0]),
        ("2 ** -1", [0.5, 0.5]),
        ("2 ** height", [2.0, 16.0]),
        ("not " * 120 + "height > 2", [0.0, 1.0]),
        ("abs(" * 98 + "height" + ")" * 98, [1.0, 4.0]),
        ("+".join(["height"] * 70), [70.0, 280.0]),
        ("height < pitch", [1.0, 0.0]),
        ("1 <= height <= 3 != 4", [1.0, 0.0]),
        ("height == 4 or pitch > 2", [1.0, 1.0]),
        ("not (height >= 1 and pitch > 0)", [0.0, 1.0]),
        ("abs(pitch) + min(height, 2, pitch) + max(1, pitch)", [3 + 1 + 3, 1 - 1 + 1]),
        ("clip(height, 2, 3)", [2.0, 3.0]),
        ("sqrt(height) + exp(0) + sin(0) + cos(pi)", [1.0, 2.0]),
        ("  height", [1.0, 4.0]),
        ("sqrt(height - 2) + 5", [5.0, 5 + 2**0.5]),
        ("max(sqrt(height - 2), 0.5) * (0 / (height - 1) == 0)", [0.5, 2**0.5]),
        ("height\n + 1", [2.0, 5.0]),
    ],
)
def test_expressions_are_computed_for_all_environments(text: str, expected: list[float]) -> None:
    assert value(text, height=[1, 4], pitch=[3, -1]) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(
    "name", ["knee", "left-hip", "in", "None", "part#2", 'a"b', "back\\slash", "\u00b5m", "1st", "µ"]
)
def test_every_listed_name_can_be_used_in_an_expression(name: str) -> None:
    listed = write("height", name)
    names = SignalNames((), (), (name,))
    assert listed in names.all()
    expression = compile_expression(f"{listed} - 1", names)
    assert expression.signals == {listed} and expression(Given(**{listed: [3.0]})).tolist() == [2.0]


X = [-1.0, 0.0, 1.0, 1.5, 2.0, 3.0]
"""Two margins and one below the bounds 1 and 2, on them, between them, and one margin above."""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", [0, 0, 1, 1, 1, 0]),
        (", 1", [1e-4, 0.1, 1, 1, 1, 0.1]),  # a Gaussian's logarithm falls with the square
        (", 1, 0.5, linear", [0, 0.5, 1, 1, 1, 0.5]),
        (", 1, 0, 'quadratic'", [0, 0, 1, 1, 1, 0]),
        (", 1, 0.5, cosine", [0, 0.5, 1, 1, 1, 0.5]),
        (", 1, 0.5, reciprocal", [1 / 3, 0.5, 1, 1, 1, 0.5]),
        (", 1, 0.5, long_tail", [0.2, 0.5, 1, 1, 1, 0.5]),
        (", 1, 0.5, hyperbolic", [1 / 7, 0.5, 1, 1, 1, 0.5]),  # cosh(2 arccosh 2) = 7
        (", 1, 0.5, tanh_squared", [1 / 9, 0.5, 1, 1, 1, 0.5]),  # tanh(2 artanh a) = 2a / (1 + a^2)
    ],
)
def test_tolerance_is_one_within_bounds_and_has_its_value_at_the_margin(words: str, expected: list[float]) -> None:
    assert value(f"tolerance(height, 1, 2{words})", height=X) == pytest.approx(expected, abs=1e-12)


def test_tolerance_may_be_open_to_one_side() -> None:
    assert value("tolerance(height, 2, inf, 4, 0.5, linear)", height=X) == [0.625, 0.75, 0.875, 0.9375, 1.0, 1.0]


def test_names_in_brackets_may_be_quoted() -> None:
    joints = {"joint[knee]": [1.0, 2.0], "joint_rate['left-hip']": [10.0, 20.0], "contact[foot]": [0.0, 1.0]}
    assert value('joint[knee] + joint_rate["left-hip"] + contact["foot"]', **joints) == [11.0, 23.0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("not (1 - airborne * contact[foot])", [0.0, 0.0, 1.0]),
        ("1 - max(airborne, contact[foot]) or airborne", [1.0, 1.0, 1.0]),
        ("abs(airborne - contact[foot]) and airborne", [0.0, 1.0, 0.0]),
    ],
)
def test_conditions_can_be_calculated_from_conditions(text: str, expected: list[float]) -> None:
    assert value(text, **{"airborne": [0.0, 1.0, 1.0], "contact[foot]": [0.0, 0.0, 1.0]}) == expected


def test_an_expression_names_the_signals_that_it_reads() -> None:
    assert compile_expression("max(height[foot], 0) * up", NAMES).signals == {"height[foot]", "up"}
    assert value("3") == [3.0, 3.0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("height / 0", [0.0, 0.0]),
        ("-exp(1000 * height)", [-1.0, -1e6]),
        ("sqrt(-height)", [0.0, 0.0]),
        ("height / 0 > 0 or height >= 0", [1.0, 1.0]),
        ("not height / 0 > 0", [1.0, 1.0]),
        ("height ** -1", [0.0, 0.5]),
        ("-exp(1000 * height) / 2", [-0.5, -1e6]),
        ("exp(1000 * height) ** 2", [1.0, 1e6]),
        ("(-height) ** (height / 4)", [1.0, 0.0]),
        ("9 ** 9 ** 9", [1e6, 1e6]),
    ],
)
def test_values_that_are_not_finite_become_zero_or_the_largest_value(text: str, expected: list[float]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert value(text, height=[0.0, 2.0]) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("heigth", "column 1: there is no signal heigth: did you mean height?"),
        ("1 + Höhe", "column 5"),
        ("height # in m\n - pitch", "has a # at column 8: leave comments out."),
        ("height['a#b'] # in m", "has a # at column 15: leave comments out."),
        ("height +", "can't be read at column 9"),
        ("'ö' + pich", "column 1"),
        ("  abs(pich)", "column 7: there is no signal pich: did you mean pitch?"),
        ("joint[kne]", "column 7: there is no joint of kne: did you mean knee?"),
        ("action[zzz]", "choose one of knee"),
        ("joints[knee]", "column 1: joints is unknown: did you mean joint?"),
        ("pitch[knee]", "pitch takes no name in brackets: write pitch."),
        ("joint", "joint needs a name in brackets, such as joint[knee]"),
        ("joint[1]", "joint needs one name in brackets: choose one of knee, left-hip, left hip."),
        ("joint[left-hip]", "column 7: the name has to be quoted: write joint['left-hip']."),
        ("2 * joint[left hip]", "column 11: the name has to be quoted: write joint['left hip']."),
        ("joint[knee] + height +", "can't be read at column 23: check the brackets and signs."),
        ("contact[left_foot]", "did you mean foot_left?"),
        ("speed", "did you mean forward_speed?"),
        ("joint_speed[knee]", "joint_speed is unknown: did you mean joint_rate?"),
        ("clip(height, 1, -0.5)", "column 14: the lower bound of clip is above its upper one"),
        ("tolerance(height, 1, 2, 0.5, 0)", "above 0 and below 1 (or 0, for cosine, linear and quadratic)"),
        ("joint[knee, knee]", "joint needs one name in brackets"),
        ("abs", "abs is a function: write abs(...)"),
        ("joint(knee)", "joint is not a function: write joint[knee], in square brackets"),
        ("abs[1]", "abs is a function: write abs(...)"),
        ("tolerance(height, 1, 2, 0.5, linear)", "column 30: the shape of tolerance is its sixth value"),
        ("tolerance(height, 2, 1)", "column 19: the lower bound of tolerance is above its upper one"),
        ("tolerance(height, 1, 2, -1)", "the margin of tolerance is less than 0"),
        ("tolerance(height, 1, 2, 1, 2)", "the value of tolerance at its margin must be"),
        ("open('hacked', 'w')", "there is no function open"),
        ("exec('x=1')", "there is no function exec"),
        ("pitch()", "pitch is a signal, not a function: write pitch"),
        ("height()", "height is a signal, not a function: write height"),
        ("joint_rate()", "joint_rate needs a name in brackets, such as joint_rate[knee]"),
        ("abss(1)", "there is no function abss: did you mean abs?"),
        ("abs(1, 2)", "abs takes 1 value, not 2"),
        ("-abs(height-0,7)", "column 2: abs takes 1 value, not 2. Write 0.5, not 0,5."),
        ("min(" + ", ".join(["height"] * 9) + ")", "min takes 2 to 8"),
        ("min(1)", "min takes 2 to 8 values, not 1"),
        ("2 * mean(height)", "column 5: mean needs a whole episode"),
        ("(1 + 2", "can't be read at column"),
        ("1 +", "can't be read at column"),
        ("", "is empty"),
        ("1" * (MAX_TEXT + 1), f"at most {MAX_TEXT}"),
        ("(" * 240 + "1" + ")" * 240, "can't be read"),
        ("-" * 250 + "height", "more than 200 nested operations: write a simpler one"),
        ("1e10", "column 1: the number is larger than 1e+09"),
        ("9" * 400, "the number is larger"),
        ("1e999", "the number is larger"),
        ("True", "column 1: write 1 instead of True."),
        ("contact[foot] == true", "column 18: write 1 instead of true."),
        ("height > 1 or 2", "column 15: 2 is a number, not a condition"),
        ("not height", "column 5: height is a number, not a condition: compare it, as in height > 0.5."),
        ("not (1 - (airborne + contact[foot]))", "1 - (airborne + contact[foot]) is a number, not a condition"),
        ("1 - 0.5 * airborne or up", "1 - 0.5 * airborne is a number, not a condition"),
        ("1 - (2 - 1) * airborne and airborne", "is a number, not a condition"),
        ("not airborne + 1", "airborne + 1 is a number, not a condition: compare it with < or >."),
        ("height > 1 or -airborne", "-airborne is a number, not a condition: compare it with < or >."),
        ("height && up", "column 8: write and instead of &&."),
        (" height = 1", "column 9: write == instead of =."),
        ("height => 1", "column 8: write >= instead of =>."),
        ("height ≥ 1", "column 8: write >= instead of ≥."),
        ("height − up", "column 8: write - instead of −."),
        ("airborne AND up > 0", "column 10: write and instead of AND."),
        ("if(up > 0, 1, 0)", "column 1: if and else can't be used: multiply by the condition"),
        ("height ^ 2", "column 8: write ** instead of ^."),
        ("'x'", "only numbers and signals"),
        ("b'x'", "only numbers and signals"),
        ("None", "only numbers and signals"),
        ("...", "only numbers and signals"),
        ("1j", "only numbers and signals"),
        ("height if up else 1", "column 1: if and else can't be used: multiply by the condition"),
        ("0,5 * height", "write 0.5, not 0,5"),
        ("(height > 1) & (up > 0)", "write and instead of &"),
        ("(height > 1) | (up > 0)", "write or instead of |"),
        ("2 * height^2", "write ** instead of ^"),
        ("~up", "write not instead of ~"),
        ("height is up", "can be used"),
        ("height in up", "can be used"),
        ("[height][0]", "can be used"),
        ("height[foot][0]", "can be used"),
        ("f'{height}'", "can be used"),
        ("().__class__.__bases__", "can be used"),
        ("{1: 2}", "can be used"),
        ("{1}", "can be used"),
        ("(1, 2)", "a comma separates arguments"),
        ("(yield 1)", "can be used"),
        ("(await a)", "can be used"),
        ("{x for x in y}", "can be used"),
        ("{x: 1 for x in y}", "can be used"),
        ("(x for x in y)", "can be used"),
        ("abs(**up)", "can be used"),
        ("height.real", "can be used"),
        ("height @ up", "can be used"),
        ("lambda: 1", "can be used"),
        ("[x for x in y]", "can be used"),
        ("__import__('os').system('x')", "can be used"),
        ("abs(*height)", "can be used"),
        ("clip(height, low=1)", "column 17: leave out low=."),
        ("(height := 1)", "can be used"),
        ("tolerance(height, 1)", "takes 3 to 6 values, not 2"),
        ("tolerance(height, {[]: 1}, 2)", "can be used"),
        ("tolerance(height, 0, 1, 1, 1, liner)", "column 31: tolerance has no shape liner: did you mean linear?"),
        ("tolerance(height, 0, 1, 1, 1, 2)", "choose one of gaussian, hyperbolic"),
        ("height; up", "can't be read at column 7"),
        ("\0", "can't be read"),
        ("height\0", "can't be read"),
        ("action[]", "can't be read"),
        ("height[foot", "can't be read"),
        ("height < < up", "can't be read"),
        ("height <> up", "can't be read"),
        ("height[1:2]", "needs one name"),
        ("hölzern", "no signal"),
    ],
)
def test_a_wrong_expression_is_one_sentence_with_the_place(text: str, reason: str) -> None:
    with pytest.raises(UserError) as refused:
        compile_expression(text, NAMES, "oracle")
    sentence = str(refused.value)
    assert sentence.startswith("oracle") and reason in sentence and "\n" not in sentence and sentence[-1] in ".?"


@pytest.mark.parametrize("name", ["a#b", "a=b", "a&&b", "it's", "a b", "a]b", "1", "and", "ﬁn"])
def test_an_unquoted_name_is_answered_with_how_to_write_it(name: str) -> None:
    names = SignalNames((name,), (), (name,))
    for family in ("joint", "contact"):
        with pytest.raises(UserError) as refused:
            compile_expression(f"height + {family} [ {name} ] + {family}[{name}]", names, "oracle")
        place = f"oracle, column {len(family) + 13}"
        assert str(refused.value) == f"{place}: the name has to be quoted: write {write(family, name)}."
        compile_expression(write(family, name), names, "oracle")


def test_quotes_are_no_part_of_a_name() -> None:
    names = SignalNames(("knee", "'knee'"), (), ())
    assert compile_expression("joint['knee']", names, "oracle").signals == {"joint[knee]"}
