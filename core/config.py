"""All settings of a session, frozen, each with a description and its section of the paper.

Building a config validates it. It is saved in the session folder as JSON, from which a resumed run reads it.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from core.errors import UserError
from core.input_checks import nearest
from core.types import Teacher, is_number

_MAX_BATCH = 1 << 24
"""Most steps in a batch, over all environments. Configs may come from other people, so sizes are checked before allocation."""
_MAX_WEIGHTS = 1 << 24
"""Most weights of the ensemble: float32, stored three times (Adam) in memory and in every checkpoint."""
_MAX_KEPT = 1 << 20
"""Most steps kept in segments; a step of the Ant takes 692 bytes."""


def number(default: float, help: str, paper: str = "", low: float = -math.inf, high: float = math.inf) -> Any:
    """Declare a number from `low` to `high`; an integer, of at most 10^12, if the default is one.

    help: description shown to the user
    paper: section of the paper, '' if the paper does not mention the setting
    """
    integer = isinstance(default, int)
    high = min(high, 10**12) if integer else high
    metadata = {"help": help, "paper": paper, "low": low, "high": high, "integer": integer}
    return dataclasses.field(default=default, metadata=metadata)


def choice(default: str, help: str, options: tuple[str, ...], paper: str = "") -> Any:
    """Declare a setting whose value is one of `options`."""
    return dataclasses.field(default=default, metadata={"help": help, "paper": paper, "options": options})


def text(default: str, help: str) -> Any:
    """Declare a setting whose value may be any text."""
    return dataclasses.field(default=default, metadata={"help": help, "text": True})


class _Checked:
    """Base of the config classes. Raises UserError if a value is outside its bounds."""

    def __post_init__(self) -> None:
        section = next((f"{name}." for name, kind in _SECTIONS.items() if isinstance(self, kind)), "")
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            _check(f"{section}{field.name}", field.metadata, value)
            if "low" in field.metadata and not field.metadata["integer"]:
                object.__setattr__(self, field.name, float(value))  # so that equal configs have equal texts


def _check(name: str, limits: Mapping[str, Any], value: Any) -> None:
    if "text" in limits and not isinstance(value, str):
        raise UserError(f"{name} is {value!r:.40}: give a name.")
    if "options" in limits and value not in limits["options"]:
        raise UserError(f"{name} is {value!r}: choose one of {', '.join(limits['options'])}.")
    if "low" in limits:
        kind, types = ("a whole number", int) if limits["integer"] else ("a number", int | float)
        valid = isinstance(value, types) and is_number(value)
        if not valid or not limits["low"] <= value <= limits["high"]:
            low, high = limits["low"], limits["high"]
            shown = "{:,}" if limits["integer"] else "{:g}"
            bounds = f"from {low:g} to {shown.format(high)}" if math.isfinite(high) else f"of at least {low:g}"
            comma = ", with a decimal point" if isinstance(value, str) and "," in value else ""
            raise UserError(f"{name} is {value!r:.40}: give {kind} {bounds}{comma}.")


@dataclass(frozen=True)
class RewardConfig(_Checked):
    """Fitting the reward ensemble."""

    members: int = number(3, "predictors in the ensemble", "2.2.3, A", 1, 100)
    hidden: int = number(64, "units in each of the two hidden layers", "A.1", 1, 4096)
    inputs: str = choice(
        "observation_action",
        "inputs of the predictors in tasks without pictures",
        ("observation_action", "observation"),
        "2.2.1",
    )
    bonus: float = number(0.0, "reward for disagreement between the members, which fades as they agree", "", 0)
    novelty: float = number(0.0, "reward for states that are rare among the newest", "", 0)
    novelty_steps: int = number(600_000, "environment steps over which the reward for novelty fades", "", 0)
    answer_interval: int = number(
        0,
        "steps between answers below which exploration shrinks, as the cube of the ratio; 0: never",
        "",
        0,
    )
    error_rate: float = number(0.1, "assumed chance that the teacher answers at random", "2.2.3", 0, 0.999)
    holdout: float = number(math.exp(-1), "share of answers held out for validation", "2.2.3", 0, 0.9)
    std: float = number(
        1.0,
        "standard deviation of the normalized predicted reward (paper, Atari: 0.05); without effect on SAC",
        "A",
        1e-6,
    )
    learning_rate: float = number(1e-3, "Adam's learning rate", "", 0, 1)
    l2: float = number(1e-4, "weight decay at the start", "2.2.3", 0)
    sparsity: float = number(
        0.0, "penalty for each input that a predictor uses, divided by the number of answers", "", 0
    )
    l2_rate: float = number(
        1.05, "factor by which weight decay is multiplied or divided after an epoch", "2.2.3", 1, 10
    )
    ratio_low: float = number(1.1, "ratio of validation to training loss below which weight decay falls", "2.2.3", 0)
    ratio_high: float = number(1.5, "ratio of validation to training loss above which weight decay rises", "2.2.3", 0)
    minibatch: int = number(64, "answers in one gradient step of a member", "", 1)
    epochs_first: int = number(
        100, "epochs on the first answers, before policy training starts (paper, Atari: 200)", "A", 1
    )
    epochs: int = number(6, "epochs in each later round of fitting", "", 1)
    interval: int = number(1, "fewest environment steps between two rounds of fitting without a new answer", "", 1)
    steps_per_label: float = number(0.0, "fewest steps between rounds, per answer fitted (paper: 10)", "A.2", 0)
    max_labels: int = number(
        0, "fit only to this many of the latest answers; 0 for all (paper, Atari: 3,000)", "A.2", 0
    )
    dropout: float = number(0.0, "share of hidden units dropped (paper, Atari: 0.5)", "2.2.3, A.2", 0, 0.9)
    last_layer_scale: float = number(0.02, "initial scale of the last layer", "", 0, 1)
    target: str = choice("comparisons", "what the predictors are fitted to", ("comparisons", "returns"), "3.3")

    @property
    def see_actions(self) -> bool:
        """True if actions are among the predictors' inputs."""
        return self.inputs == "observation_action"


@dataclass(frozen=True)
class QueryConfig(_Checked):
    """Choosing which pairs to ask about, and when."""

    selection: str = choice(
        "disagreement",
        "how pairs are chosen",
        ("disagreement", "random", "challenge"),
        "2.2.4",
    )
    candidates: int = number(
        10, "candidate pairs (challenge: segments) for each pair that is asked about", "A", 1, 1000
    )
    first_share: float = number(0.25, "share of the answers collected before policy training starts", "A.1", 0, 1)
    first_labels: int = number(0, "answers before policy training; 0 for the share above (paper, Atari: 500)", "A.2", 0)
    taken: int = number(0, "answers taken over from another session; the others are asked as in a new one", "", 0)
    first_clips: int = number(4, "clips collected for each pair asked before training", "", 1, 1000)
    schedule: str = choice("paper", "labelling rate: the paper's, or evenly by answers", ("paper", "answers"), "A")
    half_life: float = number(
        2e6, "h in the labelling rate h / (T + h), in environment steps (paper, Atari: 1.25e6)", "A", 1
    )
    horizon: int = number(
        0,
        "environment steps by which all pairs are asked and the learning rate has fallen; 0 for those of the session",
        "",
        0,
    )
    segment_steps: int = number(0, "steps of a segment; 0 for the task's own", "3.3", 0, 1000)
    repeats: str = choice("off", "ask about some pairs again to measure consistency", ("off", "on"), "2.2.3")
    repeat_share: float = number(0.05, "share of repeated pairs", "", 0, 0.5)
    repeat_after: int = number(20, "fewest answers before a pair is repeated", "", 1, 10_000)
    ready: int = number(4, "pairs prepared in advance", "", 1, 64)
    pool: int = number(1024, "segments to choose pairs from", "", 2, 16384)
    pool_old: float = number(0.0, "share of the pool for segments of all earlier policies", "", 0, 1)
    rest: int = number(0, "answers before a segment may be shown again", "", 0, 10_000)
    alike: float = number(0.0, "least distance between a pair's segments; 1 is that of two random ones", "", 0, 1)

    @property
    def by_answers(self) -> bool:
        """True if pairs are asked evenly, by answers."""
        return self.schedule == "answers"

    def length(self, usual: int) -> int:
        """Return the number of steps of a segment. usual: number of steps of the task's own segments"""
        return self.segment_steps or usual

    def first_of(self, labels: int) -> int:
        """Return how many of `labels` answers are collected before policy training: a share (A.1) or a number (A.2)."""
        return min(labels, self.first_labels or max(1, math.ceil(self.first_share * labels - 1e-9)))


@dataclass(frozen=True)
class OracleConfig(_Checked):
    """Errors of the oracle: the simulated teachers of B-Pref (Lee et al. 2021). The paper's oracle makes none.

    core.preferences.oracle defines what `skip` and `equal` are shares of.
    """

    mistakes: float = number(0.0, "chance that the oracle chooses the wrong side", "", 0, 1)
    skip: float = number(
        0.0,
        "answer 'can't tell' if both returns are less than worst + skip * (mean - worst) of the pool",
        "",
        0,
        1,
    )
    equal: float = number(
        0.0,
        "answer 'tie' if the returns differ by less than equal * (mean - worst) of the pool",
        "",
        0,
        100,
    )
    beta: float = number(0.0, "choose left with P = sigmoid(beta * difference of returns); 0 to never err", "", 0)
    myopia: float = number(1.0, "weight of each step of a clip relative to the next step", "", 0, 1)


@dataclass(frozen=True)
class PersonConfig(_Checked):
    """The simulated person, who answers in place of a real one (--teacher person)."""

    pace: float = number(12.0, "answers per minute, with query.schedule=answers", "", 0.01, 10_000)
    wrong: float = number(0.15, "share of wrong answers, more of them the more alike two clips are", "", 0, 0.499)
    ties: float = number(0.05, "share of ties", "", 0, 0.4)
    cant_tell: float = number(0.03, "share of 'can't tell'", "", 0, 0.9)
    speed: float = number(30_000.0, "environment steps that are trained on per second of the person's time", "", 1)


@dataclass(frozen=True)
class PolicyConfig(_Checked):
    """Improving the policy. The defaults suit PPO; core.presets has settings for the other optimizers."""

    algorithm: str = choice("ppo", "policy optimizer", ("ppo", "trpo", "a2c", "sac"), "2.2.1")
    hidden: int = number(64, "units in each of the two hidden layers", "", 1, 2048)
    vision: str = choice("small", "network for pictures: Mnih et al. 2016 or 2015", ("small", "nature"), "A.2")
    discount: float = number(0.99, "discount factor, per step", "A.1", 0, 0.99999)
    gae_lambda: float = number(
        0.95, "lambda of generalized advantage estimation; 1 for n-step returns; without effect on SAC", "A.1", 0, 1
    )
    entropy_bonus: float = number(0.01, "weight of the entropy bonus; without effect on SAC", "A.1", 0)
    learning_rate: float = number(1e-3, "learning rate; for TRPO, of the value function", "A.2", 0, 1)
    decay: float = number(
        0.0,
        "share by which the learning rate falls, linearly: over the session, or with query.schedule=answers at its end",
        "A.2",
        0,
        1,
    )
    clip: float = number(0.2, "PPO: largest change of the probability ratio in one update", "", 0.001, 1)
    epochs: int = number(8, "passes over one batch; for TRPO, of the value function; A2C makes one", "", 1, 1000)
    minibatch: int = number(2048, "steps in one gradient step; A2C uses the whole batch", "", 1)
    max_gradient: float = number(
        0.5, "largest gradient norm; longer gradients are clipped; without effect on SAC", "", 1e-6
    )
    target_kl: float = number(0.03, "PPO: KL divergence from the old policy that ends an update early", "", 1e-6)
    max_kl: float = number(0.01, "TRPO: largest mean KL divergence of one update", "", 1e-6)
    curvature_share: float = number(0.5, "TRPO: share of a batch used to estimate curvature", "", 1e-4, 1)
    damping: float = number(0.1, "TRPO: number added to the curvature", "", 0)
    conjugate_steps: int = number(10, "TRPO: conjugate gradient steps", "", 1, 1000)
    line_search: int = number(10, "TRPO: step lengths tried before an update is rejected", "", 1, 100)
    rms_decay: float = number(0.99, "A2C: decay rate of RMSprop", "A.2", 0, 0.99999)
    rms_epsilon: float = number(1e-5, "A2C: epsilon of RMSprop", "A.2", 1e-12)
    replay: int = number(262_144, "SAC: steps that are kept to learn from", "", 1, 10_000_000)
    steps_per_gradient: float = number(50.0, "SAC: environment steps per gradient step", "", 0.1)
    return_steps: int = number(3, "SAC: steps whose rewards are added up before the critics value the rest", "", 1, 100)
    target_rate: float = number(0.01, "SAC: share by which target values follow at each gradient step", "", 1e-6, 1)
    target_entropy: float = number(
        0.0, "SAC: entropy of each action at first, in nats; it falls later; at most 0.68", "", -10, 0.68
    )
    initial_std: float = number(
        1.0, "standard deviation of the untrained policy's actions; without effect on SAC", "", 1e-3, 10
    )
    lag: int = number(0, "batches that may be collected ahead of the policy's updates", "", 0, 8)


@dataclass(frozen=True)
class RolloutConfig(_Checked):
    """Acting in the environments."""

    environments: int = number(128, "environments simulated in parallel", "", 1, 16384)
    steps: int = number(96, "steps of each environment in one batch", "", 2)
    threads: int = number(0, "physics threads; 0 for one per core if batches are large enough", "", 0, 1024)
    varied_starts: float = number(
        0.0,
        "share of environments whose robot starts turned over, tilted or in the air, while this yields better clips",
        "",
        0,
        0.9,
    )
    captured_envs: int = number(0, "environments that record pictures for clips (not robots)", "", 0, 16384)
    steps_per_answer: int = number(0, "steps of training that each answer allows; 0 for no limit", "", 0)
    finish_steps: int = number(
        0, "steps of training after the last answer, half of them at a falling learning rate", "", 0
    )
    demonstrate_every: int = number(0, "batches between two recordings for the live view; 0 for none", "", 0)


@dataclass(frozen=True)
class Config(_Checked):
    """All settings of one session."""

    task: str = text("hopper-backflip", "task or behaviour by name, the text of a behaviour file, or gym:ENV_ID")
    teacher: str = choice(Teacher.ORACLE.value, "who answers", tuple(Teacher))
    labels: int = number(100, "answers in the whole session", "", 0, 10_000_000)
    steps: int = number(1_000_000, "environment steps in the whole session", "", 1)
    seed: int = number(0, "random seed; the same seed gives the same start", "", 0)
    device: str = choice("auto", "where networks are trained", ("auto", "cpu", "cuda"))
    true_reward: str = choice("task", "the task's own true reward, or OpenAI's (hopper-backflip)", ("task", "openai"))
    reward: RewardConfig = dataclasses.field(default_factory=RewardConfig)
    query: QueryConfig = dataclasses.field(default_factory=QueryConfig)
    policy: PolicyConfig = dataclasses.field(default_factory=PolicyConfig)
    rollout: RolloutConfig = dataclasses.field(default_factory=RolloutConfig)
    oracle: OracleConfig = dataclasses.field(default_factory=OracleConfig)
    person: PersonConfig = dataclasses.field(default_factory=PersonConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        for contradicts, sentence in self._contradictions():
            if contradicts:
                raise UserError(sentence)

    @property
    def planned_steps(self) -> int:
        """Environment steps over which training is scheduled. A session in the window may continue beyond them."""
        return min(self.query.horizon or self.steps, self.steps)

    @property
    def last_steps(self) -> int:
        """Environment steps of a headless session after its last answer, at most half of `planned_steps`."""
        return min(self.rollout.finish_steps, self.planned_steps // 2)

    @property
    def finishing_steps(self) -> int:
        """Environment steps with a falling learning rate at the end of a headless session: the second half of `last_steps`."""
        return self.last_steps // 2

    def _contradictions(self) -> Iterator[tuple[bool, str]]:
        """Yield for each rule (whether the config breaks it, error message)."""
        reward, query, answered = self.reward, self.query, self.teacher != Teacher.NONE
        single = reward.members == 1 and answered
        yield (
            single and query.selection != "random",
            "One predictor cannot disagree with itself: with reward.members=1 set query.selection=random (paper 3.3).",
        )
        yield (
            single and reward.bonus > 0,
            "One predictor cannot disagree with itself: with reward.members=1 set reward.bonus=0.",
        )
        yield (
            reward.target == "returns" and self.teacher != Teacher.ORACLE,
            "Only the oracle knows true returns: with reward.target=returns choose the oracle as teacher (paper 3.3).",
        )
        yield (
            reward.target == "returns" and self.oracle != OracleConfig(),
            "With reward.target=returns the oracle makes no choices that could be wrong: leave out that setting or the"
            " oracle's errors.",
        )
        yield reward.ratio_low > reward.ratio_high, "reward.ratio_low is above reward.ratio_high: swap the two."
        yield (
            answered and self.labels == 0,
            "With 0 labels, nothing can be learned: set labels to at least 1, or teacher to none to train on the true reward.",
        )
        first = query.first_of(self.labels)
        yield (
            answered and query.pool * (query.pool - 1) // 2 < first,
            f"A pool of {query.pool} segments has too few pairs for the first answers: give a larger query.pool.",
        )
        yield (
            answered and query.selection == "challenge" and query.candidates < 2,
            "A clip can't be compared with itself: with query.selection=challenge give query.candidates of at least 2.",
        )
        batch = self.rollout.environments * self.rollout.steps
        yield batch > _MAX_BATCH, f"A batch of {batch:,} steps would not fit into memory: give at most {_MAX_BATCH:,}."
        yield (
            reward.members * reward.hidden**2 > _MAX_WEIGHTS,
            f"{reward.members} predictors of {reward.hidden} hidden units would not fit into memory: give smaller ones"
            " (reward.hidden) or fewer (reward.members).",
        )
        for count, name in ((query.pool, "query.pool"), (self.rollout.environments, "rollout.environments")):
            yield (
                count * query.segment_steps > _MAX_KEPT,
                f"{count:,} segments of {query.segment_steps} steps would not fit into memory: give a smaller {name}"
                " or fewer query.segment_steps.",
            )

    def to_dict(self) -> dict[str, Any]:
        """Return all settings as JSON values, the sections as nested dicts."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(values: dict[str, Any]) -> Config:
        """Build a config from JSON values; missing settings get their defaults.

        Raises UserError for an unknown name or an invalid value.
        """
        try:
            sections = {section: kind(**values[section]) for section, kind in _SECTIONS.items() if section in values}
            return Config(**{**values, **sections})
        except (TypeError, AttributeError) as error:
            problem = re.sub(r"^\w+\.__init__\(\) got an unexpected keyword argument", "unknown setting", str(error))
            raise UserError(
                f"These settings are not of this version of the program ({problem}): use the version that wrote them."
            ) from error


_SECTIONS: dict[str, type[_Checked]] = {
    "reward": RewardConfig,
    "query": QueryConfig,
    "policy": PolicyConfig,
    "rollout": RolloutConfig,
    "oracle": OracleConfig,
    "person": PersonConfig,
}


def setting_names(config: Config) -> list[str]:
    """Return the names of all settings, 'field' or 'section.field'."""
    values = config.to_dict()
    own = [name for name, value in values.items() if not isinstance(value, dict)]
    return own + [f"{section}.{name}" for section in _SECTIONS for name in values[section]]


def replaced(config: Config, **changes: Any) -> Config:
    """Copy the config with some values changed, and validate it.

    changes: new values by 'field', 'section.field' or 'section__field'

    Raises UserError for an unknown name or an invalid value.
    """
    values = config.to_dict()
    for name, value in changes.items():
        section, _, field = name.replace("__", ".").rpartition(".")
        target = values.get(section) if section else values
        if not isinstance(target, dict) or field not in target or isinstance(target[field], dict):
            given = name.replace("__", ".")
            names = setting_names(config)
            near = nearest(given, names)
            alike = [known for known in names if known.startswith(f"{given.partition('.')[0]}.")]
            known = f"choose one of {', '.join(alike)}." if alike else f"the sections are {', '.join(_SECTIONS)}."
            advice = f"did you mean {near}?" if near else known
            raise UserError(f"There is no setting {given!r:.60}: {advice}")
        target[field] = value
    return Config.from_dict(values)
