"""Captions, learning curve, title and end card of a film, drawn with OpenCV.

Pictures are (height, width, 3) uint8, RGB. All sizes are fractions of the height, so a film looks the same at any size.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from core.types import Choice

Picture = npt.NDArray[np.uint8]
Colour = tuple[int, int, int]
BACKGROUND, LINE = (20, 23, 28), (70, 80, 94)
TEXT, MUTED, GREEN = (236, 239, 244), (167, 177, 190), (76, 195, 138)
_FACE = "sans"
"""OpenCV's own variable font: antialiased, and the same on every system."""
_BOLD, _REGULAR = 700, 420
_SMALLEST = 6
"""Smallest height of letters in pixels that OpenCV draws."""


@dataclass(frozen=True)
class Caption:
    """Caption of a clip.

    when: the moment, such as 'after 12 answers, 340k steps'
    figure: value of the measure, such as '0.4'
    measure: title of the measure
    """

    when: str
    figure: str
    measure: str


def blank(height: int) -> Picture:
    """Return an empty picture of aspect ratio 16:9, (height, width, 3)."""
    return np.full((height, height * 16 // 9, 3), BACKGROUND, np.uint8)


def write(
    picture: Picture, text: str, left: float, base: float, size: float, colour: Colour = TEXT, bold: bool = False
) -> None:
    """Draw one line of text in place, from `left` on, on the baseline `base`; positions and size in pixels."""
    face, weight = cv2.FontFace(_FACE), _BOLD if bold else _REGULAR
    place = round(left), round(base)
    drawn = cv2.putText(picture, text, place, colour, face, max(_SMALLEST, round(size)), weight=weight)[1]
    np.copyto(picture, drawn)


def width(text: str, size: float, bold: bool = False) -> int:
    """Return the width in pixels of a line of text."""
    face, weight = cv2.FontFace(_FACE), _BOLD if bold else _REGULAR
    box: Sequence[int] = cv2.getTextSize((0, 0), text, (0, 0), face, max(_SMALLEST, round(size)), weight=weight)
    return box[0] + box[2]


def fitting(text: str, size: float, room: float, bold: bool = False) -> float:
    """Return the largest size, up to `size`, at which the line fits into `room` pixels."""
    return min(size, size * room / max(1, width(text, size, bold)))


def wrapped(text: str, size: float, room: float) -> list[str]:
    """Break the text into lines of at most `room` pixels, if no single word is longer."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width(longer, size) <= room:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def title_card(height: int, title: str, how: str, below: str) -> Picture:
    """Draw the first picture. how: how the robot was taught, wrapped below the title; below: facts on the last line"""
    card = blank(height)
    left, room = 0.12 * height, card.shape[1] - 0.24 * height
    lines = wrapped(how, 0.048 * height, room)
    base = height * 0.5 - 0.034 * height * len(lines) - 0.02 * height
    write(card, title, left, base, fitting(title, 0.1 * height, room, bold=True), TEXT, bold=True)
    cv2.rectangle(card, *_corners(left, base + 0.045 * height, left + 0.16 * height, base + 0.053 * height), GREEN, -1)
    for number, line in enumerate(lines):
        write(card, line, left, base + (0.14 + 0.068 * number) * height, 0.048 * height, MUTED)
    write(card, below, left, height * 0.92, 0.036 * height, MUTED)
    return card


def end_card(height: int, first: Caption, last: Caption, facts: str, curve: Sequence[float]) -> Picture:
    """Draw the last picture: the measure before and after, its curve, and the number of answers and steps."""
    card = blank(height)
    left, middle = 0.12 * height, card.shape[1] / 2
    write(card, last.measure, left, 0.17 * height, fitting(last.measure, 0.055 * height, middle - left), MUTED)
    change = f"{first.figure} → {last.figure}"
    write(
        card, change, left, 0.36 * height, fitting(change, 0.15 * height, 0.95 * middle - left, bold=True), GREEN, True
    )
    for number, line in enumerate(last.when.split(", ")):
        write(card, line, left, (0.52 + 0.08 * number) * height, 0.06 * height, TEXT, bold=True)
    write(card, facts, left, 0.92 * height, 0.036 * height, MUTED)
    box = middle + 0.05 * height, 0.14 * height, card.shape[1] - left, 0.72 * height
    draw_curve(card, box, curve, len(curve) - 1)
    return card


def learning(clip: Picture, title: str, caption: Caption, curve: Sequence[float], at: int) -> Picture:
    """Draw a clip (height, height, 3), and next to it its caption and the curve, bright up to index `at`."""
    height = len(clip)
    picture = blank(height)
    picture[:, :height] = clip
    left, room = height * 1.06, picture.shape[1] - height * 1.12
    write(picture, title, left, 0.1 * height, fitting(title, 0.042 * height, room), MUTED)
    size, words = 0.078 * height, caption.when.removeprefix("after ")
    lines = ([] if words == caption.when else ["after"]) + words.split(", ")
    for number, line in enumerate(lines):
        write(picture, line, left, (0.22 + 0.105 * number) * height, fitting(line, size, room, True), TEXT, bold=True)
    large = fitting(caption.figure, 0.14 * height, room, bold=True)
    write(picture, caption.figure, left, 0.61 * height, large, GREEN, bold=True)
    for number, line in enumerate(wrapped(caption.measure, 0.04 * height, room)[:2]):
        write(picture, line, left, (0.675 + 0.052 * number) * height, 0.04 * height, MUTED)
    draw_curve(picture, (left, 0.79 * height, picture.shape[1] - 0.06 * height, 0.94 * height), curve, at)
    return picture


def side_by_side(clips: Sequence[Picture], captions: Sequence[Caption]) -> Picture:
    """Draw two clips (8/9 height, 8/9 height, 3), each with its caption below."""
    picture, side = _next_to_each_other(clips), len(clips[0])
    height = len(picture)
    large = min(fitting(caption.figure, 0.062 * height, 0.4 * side, bold=True) for caption in captions)
    room = 0.92 * side - max(0.24 * side, *(width(caption.figure, large, bold=True) for caption in captions))
    size = min(fitting(caption.when, 0.042 * height, room, bold=True) for caption in captions)
    for number, caption in enumerate(captions):
        left = number * side
        write(picture, caption.when, left + 0.03 * height, 0.938 * height, size, TEXT, bold=True)
        small = fitting(caption.measure, 0.03 * height, room)
        write(picture, caption.measure, left + 0.03 * height, 0.98 * height, small, MUTED)
        at = left + side - 0.03 * height - width(caption.figure, large, bold=True)
        write(picture, caption.figure, at, 0.966 * height, large, GREEN, True)
    return picture


def compared(clips: Sequence[Picture], caption: str, words: str, choice: Choice | None) -> Picture:
    """Draw two clips (8/9 height, 8/9 height, 3), the better one framed. choice: None before it is made"""
    picture, side = _next_to_each_other(clips), len(clips[0])
    height = len(picture)
    base = 0.966 * height
    write(picture, caption, 0.03 * height, base, 0.042 * height, MUTED)
    question, colour = (words, GREEN) if words else ("Which is better?", TEXT)
    size = 0.062 * height
    left = picture.shape[1] - 0.03 * height - width(question, size, bold=True)
    write(picture, question, left, base, size, colour, bold=True)
    better = {Choice.LEFT: (0,), Choice.RIGHT: (1,), Choice.TIE: (0, 1)}.get(choice, ()) if choice else ()
    edge = max(2, round(0.012 * height))
    for number in better:
        corner = number * side + edge // 2, edge // 2
        cv2.rectangle(picture, corner, (corner[0] + side - edge, side - edge // 2), GREEN, edge)
    return picture


def _next_to_each_other(clips: Sequence[Picture]) -> Picture:
    """Return a picture, 9/8 of the clips' side high, with two clips (side, side, 3) at its top."""
    side = len(clips[0])
    picture = blank(side * 9 // 8)
    picture[:side, : 2 * side] = np.concatenate(clips, axis=1)
    cv2.line(picture, (side, 0), (side, side), BACKGROUND, max(1, round(0.006 * len(picture))))
    return picture


def curve_card(height: int, curve: Sequence[float], at: int, caption: Caption) -> Picture:
    """Draw the curve of the measure, bright up to index `at`, with the caption of the policy there."""
    card = blank(height)
    left = 0.1 * height
    write(card, caption.measure, left, 0.13 * height, 0.055 * height, MUTED)
    large = fitting(caption.figure, 0.15 * height, card.shape[1] - 2 * left, bold=True)
    write(card, caption.figure, left, 0.29 * height, large, GREEN, bold=True)
    write(card, caption.when, left, 0.37 * height, 0.05 * height, TEXT, bold=True)
    draw_curve(card, (left, 0.47 * height, card.shape[1] - left, 0.9 * height), curve, at)
    return card


def draw_curve(picture: Picture, box: tuple[float, float, float, float], values: Sequence[float], at: int) -> None:
    """Draw the values across the box (left, top, right, bottom) in place, bright up to index `at`, with a dot there."""
    left, top, right, bottom = box
    known = np.array(values, np.float64)
    finite = np.isfinite(known)
    height = len(picture)
    cv2.line(picture, *_corners(left, bottom, right, bottom), LINE, max(1, height // 360), cv2.LINE_AA)
    if not finite.any():
        return
    low, high = min(0.0, float(known[finite].min())), float(known[finite].max())
    x = left + (right - left) * np.arange(len(known)) / max(1, len(known) - 1)
    y = bottom - (bottom - top) * (known - low) / ((high - low) or 1.0)
    points = np.stack([x, y], axis=1)
    thick = max(1, round(height / 180))
    for rows, colour in ((finite, LINE), (finite & (np.arange(len(known)) <= at), GREEN)):
        line = points[rows].round().astype(np.int32)
        cv2.polylines(picture, [line], False, colour, thick, cv2.LINE_AA)
    if finite[at]:
        centre = round(x[at]), round(y[at])
        cv2.circle(picture, centre, max(2, round(height / 60)), GREEN, -1, cv2.LINE_AA)


def _corners(left: float, top: float, right: float, bottom: float) -> tuple[tuple[int, int], tuple[int, int]]:
    return (round(left), round(top)), (round(right), round(bottom))
