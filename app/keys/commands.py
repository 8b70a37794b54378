"""Every command with its title, tip and default keys; menus, shortcuts, the key list and the key editor use this table."""

from dataclasses import dataclass
from enum import StrEnum

from core.types import Choice


class Command(StrEnum):
    """Every action of the window except the choices. The values are names in the settings: never change them."""

    UNDO = "undo"
    REDO = "redo"
    PLAYBACK = "playback"
    RESTART_CLIPS = "restart clips"
    PREVIOUS_FRAME = "frame back"
    NEXT_FRAME = "frame on"
    QUARTER_SPEED = "quarter speed"
    HALF_SPEED = "half speed"
    FULL_SPEED = "full speed"
    DOUBLE_SPEED = "double speed"
    PREDICTIONS = "predictions"
    EDIT_KEYS = "bind keys"
    START_PAGE = "start page"
    START_OVER = "start over"
    PAUSE = "pause"
    STOP = "stop"
    FINISH = "finish training"
    UNDO_FINISH = "undo finish"
    HUMAN = "human"
    ORACLE = "oracle"
    EXPORT = "export"
    SAVE_PLOTS = "save plots"
    EXPORT_ONNX = "export onnx"
    PLAY_GAME = "play"
    QUIT = "quit"
    PROGRESS_PANEL = "panel"
    EARLIER_POLICY = "earlier policy"
    LATER_POLICY = "later policy"
    NEWEST_POLICY = "newest policy"
    DEMO = "demo"
    SELF_RUNNING_DEMO = "demo alone"
    VOTE = "vote"
    TRAINING_FILM = "film"
    BEFORE_AFTER_FILM = "before and after"
    TALK_FILM = "film for a talk"
    LEARNING_PLOTS = "learning plots"
    REWARD_PLOTS = "reward plots"
    SESSION_PLOTS = "session plots"
    HIDE_TRUE_REWARD = "hide true reward"
    SYSTEM_COLOURS = "system colours"
    LIGHT = "light"
    DARK = "dark"
    HISTORY = "history"
    REPEATS = "repeats"
    KEY_LIST = "key list"
    GLOSSARY = "glossary"
    DIAGNOSTICS = "diagnostics"
    ABOUT = "about"


KeyAction = Choice | Command


@dataclass(frozen=True)
class CommandInfo:
    """One row of the table of commands."""

    title: str
    """Text in a menu, with & before the letter that opens it."""
    keys: tuple[str, ...] = ()
    """Default keys by Qt's portable names; the first is the one to show."""
    tip: str = ""
    """Explanation in one sentence without a full stop; '' if the title needs none."""
    checkable: bool = False
    repeats: bool = False
    """True if holding the key down repeats the command."""

    @property
    def name(self) -> str:
        """The title as plain text."""
        return plain(self.title)


def plain(title: str) -> str:
    """Return the title of a menu entry as plain text."""
    return title.replace("&", "").removesuffix("…")


COMMANDS: dict[KeyAction, CommandInfo] = {
    Choice.LEFT: CommandInfo("&Left is better", ("Left",)),
    Choice.RIGHT: CommandInfo("&Right is better", ("Right",)),
    Choice.TIE: CommandInfo("&Tie", ("Up",), "Both clips are equally good"),
    Choice.CANT_TELL: CommandInfo("&Can't tell", ("Down",), "The answer is saved, but nothing is learned from it"),
    Command.UNDO: CommandInfo("&Undo", ("Backspace", "Ctrl+Z"), "Takes back the last answer"),
    Command.REDO: CommandInfo("R&edo", ("Ctrl+Shift+Z", "Ctrl+Y"), "Restores the answer that was undone last"),
    Command.PLAYBACK: CommandInfo("&Pause or play the clips", ("Space",)),
    Command.RESTART_CLIPS: CommandInfo("Re&start the clips", ("R",), "Plays both clips from their beginning"),
    Command.PREVIOUS_FRAME: CommandInfo(
        "Pre&vious frame", (",",), "Pauses both clips and steps them together", repeats=True
    ),
    Command.NEXT_FRAME: CommandInfo("Ne&xt frame", (".",), "Pauses both clips and steps them together", repeats=True),
    Command.QUARTER_SPEED: CommandInfo("Speed &0.25×", ("1",), checkable=True),
    Command.HALF_SPEED: CommandInfo("Speed 0.&5×", ("2",), checkable=True),
    Command.FULL_SPEED: CommandInfo("Speed &1×", ("3",), checkable=True),
    Command.DOUBLE_SPEED: CommandInfo("Speed &2×", ("4",), checkable=True),
    Command.PREDICTIONS: CommandInfo(
        "Show pre&dicted answers",
        ("T",),
        "Shows the prediction for half a second after each answer, never before it",
        checkable=True,
    ),
    Command.EDIT_KEYS: CommandInfo("Change &keys…", (), "Changes the keys of all commands"),
    Command.START_PAGE: CommandInfo(
        "&Start page", ("Ctrl+N", "Ctrl+O"), "Saves a checkpoint, closes this session and shows the start page"
    ),
    Command.START_OVER: CommandInfo(
        "Start o&ver",
        (),
        "Closes this session, and begins a new one with all its answers and a new policy",
    ),
    Command.PAUSE: CommandInfo("&Pause", ("Ctrl+P",), "Pauses or resumes the training; you can keep answering"),
    Command.STOP: CommandInfo("S&top", ("Ctrl+.",), "Saves a checkpoint and ends the training"),
    Command.FINISH: CommandInfo(
        "&Finish training",
        (),
        "Trains without further answers, with a falling learning rate in the second half; your next answer resumes teaching",
    ),
    Command.UNDO_FINISH: CommandInfo(
        "&Undo finish",
        (),
        "Returns to the policy from before the finish: the training since then is lost, all answers stay",
    ),
    Command.HUMAN: CommandInfo("&You", ("F6",), "You answer from now on", checkable=True),
    Command.ORACLE: CommandInfo(
        "C&omputer",
        ("F7",),
        "The computer answers, using the true reward (only for tasks that have one)",
        checkable=True,
    ),
    Command.EXPORT: CommandInfo(
        "&Session as one file…",
        ("Ctrl+E",),
        "Writes the whole session to one file, which can be imported on another computer",
    ),
    Command.SAVE_PLOTS: CommandInfo(
        "&Plots and their data…",
        (),
        "Writes all plots, except those hidden with the true reward, to one zip file, as PNG, SVG and CSV",
    ),
    Command.EXPORT_ONNX: CommandInfo(
        "Policy as ONN&X…", (), "Writes the last checkpoint's policy and reward model for other programs"
    ),
    Command.PLAY_GAME: CommandInfo(
        "Play the &game yourself…",
        ("F5",),
        "Play for about five minutes before your first answer, to see what good play looks like",
    ),
    Command.QUIT: CommandInfo("&Quit", ("Ctrl+Q",), "Saves a checkpoint and closes the program"),
    Command.PROGRESS_PANEL: CommandInfo(
        "&Progress panel", ("F9",), "Shows or hides the live view and the plots", checkable=True
    ),
    Command.EARLIER_POLICY: CommandInfo(
        "&Earlier policy", ("[", "PgUp"), "Shows in the live view how the policy acted earlier", repeats=True
    ),
    Command.LATER_POLICY: CommandInfo("&Later policy", ("]", "PgDown"), repeats=True),
    Command.NEWEST_POLICY: CommandInfo("&Newest policy", ("\\", "End")),
    Command.DEMO: CommandInfo("De&mo mode", ("F11",), "Full screen for an audience: guests answer with four keys"),
    Command.SELF_RUNNING_DEMO: CommandInfo(
        "Sel&f-running demo",
        ("Shift+F11",),
        "Full screen: the computer answers until you leave (only for tasks with a true reward)",
    ),
    Command.VOTE: CommandInfo(
        "Let the audience &vote…",
        ("Ctrl+F11",),
        "Full screen with a QR code: the audience votes on phones connected to the same network",
    ),
    Command.TRAINING_FILM: CommandInfo("&Film of the training…", (), "A captioned video of how the policy learned"),
    Command.BEFORE_AFTER_FILM: CommandInfo(
        "Film &before and after…", (), "A video of the first and the newest policy side by side"
    ),
    Command.TALK_FILM: CommandInfo(
        "Film for a tal&k…",
        (),
        "Half a minute at 1920 × 1080: first policy, clips with their choices, learning curve, newest policy",
    ),
    Command.LEARNING_PLOTS: CommandInfo(
        "Plots: learnin&g", ("Ctrl+1",), "The task's measure, returns, and the loss of the reward model"
    ),
    Command.REWARD_PLOTS: CommandInfo(
        "Plots: rewar&d model", ("Ctrl+2",), "Predicted and true reward along one episode, and their correlation"
    ),
    Command.SESSION_PLOTS: CommandInfo(
        "Plots: sess&ion", ("Ctrl+3",), "Answers, agreement of the predictors, and steps per second"
    ),
    Command.HIDE_TRUE_REWARD: CommandInfo(
        "Hide the tr&ue reward",
        ("Ctrl+T",),
        "Keeps the true reward from influencing your answers; hidden by default while a person answers",
        checkable=True,
    ),
    Command.SYSTEM_COLOURS: CommandInfo("Colours: match s&ystem", (), checkable=True),
    Command.LIGHT: CommandInfo("Colours: lig&ht", (), checkable=True),
    Command.DARK: CommandInfo("Colours: d&ark", (), checkable=True),
    Command.HISTORY: CommandInfo("Ans&wer history", ("Ctrl+H",), "Every answer with its clips, to review and change"),
    Command.REPEATS: CommandInfo(
        "Show some p&airs twice",
        (),
        "Repeats a pair now and then, without saying so, to measure how consistent your answers are",
        checkable=True,
    ),
    Command.KEY_LIST: CommandInfo("&Keys and commands", ("F1", "Ctrl+?")),
    Command.GLOSSARY: CommandInfo("&Glossary", ("?", "Shift+F1"), "Explains the numbers and words in the window"),
    Command.DIAGNOSTICS: CommandInfo(
        "Collect &diagnostics…", (), "Writes a file for a bug report; read it before you send it"
    ),
    Command.ABOUT: CommandInfo("&About Somersault", ()),
}

SPEEDS: dict[Command, float] = {
    Command.QUARTER_SPEED: 0.25,
    Command.HALF_SPEED: 0.5,
    Command.FULL_SPEED: 1.0,
    Command.DOUBLE_SPEED: 2.0,
}

APPEARANCES: dict[Command, str] = {Command.SYSTEM_COLOURS: "system", Command.LIGHT: "light", Command.DARK: "dark"}
"""Values of app.style.theme.Appearance."""
