"""What the commands of the menu View do: which plots are in front, the true reward, the colours."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from app.keys.actions import Actions
from app.keys.commands import APPEARANCES, Command
from app.labelling.true_reward_visibility import TrueRewardVisibility
from app.plots.plot_panel import PlotPanel
from app.style import theme
from app.style.theme import Appearance

_GROUPS = (Command.LEARNING, Command.REWARD_FIT, Command.PACE)
"""One for each tab of plots."""


class ViewCommands(QObject):
    """Keeps the ticks in the menu as they should be."""

    def __init__(
        self, plots: PlotPanel, true_reward: TrueRewardVisibility, actions: Actions, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._plots, self._true_reward, self._actions = plots, true_reward, actions
        actions[Command.HIDE_TRUE_REWARD].setChecked(true_reward.hidden)
        true_reward.hidden_changed.connect(actions[Command.HIDE_TRUE_REWARD].setChecked)
        for command, name in APPEARANCES.items():
            actions[command].setChecked(name == theme.appearance())

    @property
    def handlers(self) -> dict[Command, Callable[[], object]]:
        groups = {command: self._front(index) for index, command in enumerate(_GROUPS)}
        appearances = {command: self._appearance(name) for command, name in APPEARANCES.items()}
        return {**groups, **appearances, Command.HIDE_TRUE_REWARD: self._on_hide_requested}

    def _front(self, index: int) -> Callable[[], object]:
        return lambda: self._plots.show_group(index)

    def _appearance(self, name: str) -> Callable[[], object]:
        return lambda: theme.choose(Appearance(name))

    def _on_hide_requested(self) -> None:
        self._true_reward.hide(self._actions[Command.HIDE_TRUE_REWARD].isChecked())
