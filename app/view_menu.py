"""The menu View: what is on screen, and in which colours."""

from __future__ import annotations

from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMainWindow, QMenu

from app import theme
from app.theme import Appearance
from app.true_reward import TrueReward
from app.widgets.plots import Plots

_APPEARANCES = {
    Appearance.SYSTEM: "As the &system has it",
    Appearance.LIGHT: "&Light",
    Appearance.DARK: "&Dark",
}


def add_view_menu(window: QMainWindow, plots: Plots, true_reward: TrueReward) -> None:
    """Before the last menu, which is Help."""
    menu = QMenu("&View", window)
    window.menuBar().insertMenu(window.menuBar().actions()[-1], menu)
    menu.addAction(_hide_true_reward(window, true_reward))
    menu.addSeparator()
    for index in range(plots.count()):
        menu.addAction(_show_group(window, plots, index))
    menu.addSeparator()
    _add_appearances(menu)


def _hide_true_reward(window: QMainWindow, true_reward: TrueReward) -> QAction:
    action = QAction("&Hide the true reward", window, checkable=True, checked=true_reward.hidden)
    action.setObjectName("hide_true_reward")
    action.setToolTip("So that the person who answers isn't led by it")
    action.triggered.connect(true_reward.hide)
    true_reward.hidden_changed.connect(action.setChecked)
    return action


def _show_group(window: QMainWindow, plots: Plots, index: int) -> QAction:
    action = QAction(f"Plots: {plots.tabText(index)}", window)
    action.setShortcut(f"Ctrl+{index + 1}")
    action.triggered.connect(lambda: plots.show_group(index))
    plots.setTabToolTip(index, action.shortcut().toString())
    return action


def _add_appearances(menu: QMenu) -> None:
    inside = menu.addMenu("&Appearance")
    group = QActionGroup(inside)
    for appearance, text in _APPEARANCES.items():
        action = QAction(text, group, checkable=True, checked=appearance == theme.appearance())
        action.setObjectName(f"appearance_{appearance}")
        action.triggered.connect(lambda _, chosen=appearance: theme.choose(chosen))
        inside.addAction(action)
