"""Handlers of the View commands: plots, true reward, colours."""

from collections.abc import Callable
from functools import partial

from app.keys.actions import Actions
from app.keys.commands import APPEARANCES, Command
from app.labelling.true_reward_visibility import TrueRewardVisibility
from app.plots.plot_panel import PlotPanel
from app.style import theme
from app.style.theme import Appearance

_PLOT_TABS = (Command.LEARNING_PLOTS, Command.REWARD_PLOTS, Command.SESSION_PLOTS)


def view_handlers(
    plots: PlotPanel, true_reward: TrueRewardVisibility, actions: Actions
) -> dict[Command, Callable[[], object]]:
    """Return a function for each command; check marks in the menu follow the true reward and the theme."""
    hide = actions[Command.HIDE_TRUE_REWARD]
    hide.setChecked(true_reward.hidden)
    true_reward.hidden_changed.connect(hide.setChecked)
    for command, name in APPEARANCES.items():
        actions[command].setChecked(name == theme.appearance())
    return {
        **{command: partial(plots.show_group, index) for index, command in enumerate(_PLOT_TABS)},
        **{command: partial(theme.choose, Appearance(name)) for command, name in APPEARANCES.items()},
        Command.HIDE_TRUE_REWARD: lambda: true_reward.hide(hide.isChecked()),
    }
