"""Every number of a run, frozen, each with its meaning and its section of the paper.

A config that contradicts itself refuses to be built. It is written into the session folder as JSON and read back from
there, so that a resumed run uses the numbers it was started with.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from core.errors import UserError

_MAX_BATCH = 1 << 24
"""Environments times steps: a config may come from another person, and sizes are checked before memory is taken."""
_MAX_WEIGHTS = 1 << 24
"""Of the ensemble: three of so many numbers of four bytes, as Adam has, are kept and go into every checkpoint."""
_MAX_KEPT = 1 << 20
"""Steps that are kept in segments; one of the Ant takes 692 bytes."""


def number(default: Any, help: str, paper: str = "", low: float = -math.inf, high: float = math.inf) -> Any:
    """A field with its meaning, its section of the paper ('' where the paper is silent) and its bounds."""
    return dataclasses.field(default=default, metadata={"help": help, "paper": paper, "low": low, "high": high})


def choice(default: str, help: str, options: tuple[str, ...], paper: str = "") -> Any:
    return dataclasses.field(default=default, metadata={"help": help, "paper": paper, "options": options})


class _Checked:
    """Checks each field's bounds when the config is built, so that nothing downstream has to."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            _check(field, getattr(self, field.name))


def _check(field: dataclasses.Field[Any], value: Any) -> None:
    limits = field.metadata
    if "options" in limits and value not in limits["options"]:
        raise UserError(f"{field.name} is {value!r}; choose one of {', '.join(limits['options'])}.")
    if "low" not in limits or value is None and field.default is None:
        return
    whole = field.type == "int"
    kind = "a whole number" if whole else "a number"
    fits = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    if not fits or not limits["low"] <= value <= limits["high"] or not math.isfinite(value):
        upwards = f"to {limits['high']:g}" if math.isfinite(limits["high"]) else "on"
        raise UserError(f"{field.name} is {value!r}; give {kind} from {limits['low']:g} {upwards}.")


@dataclass(frozen=True)
class RewardConfig(_Checked):
    """Fitting the reward ensemble."""

    members: int = number(3, "predictors in the ensemble", "2.2.3, A", 1, 100)
    hidden: int = number(64, "units in each of the two hidden layers", "A.1", 1, 4096)
    activation: str = choice(
        "leaky_relu", "hidden units of a predictor that sees numbers (paper: leaky_relu)", ("leaky_relu", "silu"), "A.1"
    )
    observed: int = number(0, "first numbers of an observation that the predictors see; 0 for all", "", 0)
    bonus: float = number(0.0, "weight of the members' disagreement in the reward at the start, to explore", "", 0)
    error_rate: float = number(0.1, "chance that the labeller answers uniformly at random", "2.2.3", 0, 0.999)
    holdout: float = number(math.exp(-1), "share of the preferences that a member only validates on", "2.2.3", 0, 0.9)
    std: float = number(1.0, "standard deviation of the normalized predicted reward (Atari: .05)", "A", 1e-6)
    learning_rate: float = number(1e-3, "Adam's step size", "", 0, 1)
    l2: float = number(1e-4, "weight decay coefficient at the start", "2.2.3", 0)
    l2_rate: float = number(1.05, "factor by which one epoch may move the weight decay", "2.2.3", 1, 10)
    ratio_low: float = number(1.1, "below this validation/training loss the weight decay goes down", "2.2.3", 0)
    ratio_high: float = number(1.5, "above this validation/training loss the weight decay goes up", "2.2.3", 0)
    minibatch: int = number(64, "preferences in one gradient step of a member", "", 1)
    epochs_first: int = number(100, "epochs on the first labels, before the policy moves (Atari: 200)", "A", 1)
    epochs: int = number(6, "epochs in each later round, for new answers or a new policy", "", 1)
    interval: int = number(1, "environment steps, at least, between two such rounds", "", 1)
    steps_per_label: float = number(
        0.0, "environment steps, at least, for each label a round fits to; 0 for any (paper: 10)", "A.2", 0
    )
    max_labels: int = number(0, "fit only to so many latest labels; 0 for all (Atari: 3,000)", "A.2", 0)
    dropout: float = number(0.0, "share of hidden units left out of a gradient step (Atari: .5)", "2.2.3, A.2", 0, 0.9)
    last_layer_scale: float = number(0.02, "size of the last layer at first, beside the usual one (games)", "", 0, 1)
    target: str = choice("comparisons", "what the predictors are fitted to", ("comparisons", "returns"), "3.3")


@dataclass(frozen=True)
class QueryConfig(_Checked):
    """Choosing what to ask, and when."""

    selection: str = choice(
        "disagreement", "how pairs are chosen", ("disagreement", "random", "mutual_information", "recency"), "2.2.4"
    )
    candidates: int = number(10, "candidate pairs for each one that is asked", "A", 1, 1000)
    first_share: float = number(0.25, "share of the labels asked before the policy is taught", "A.1", 0, 1)
    first_labels: int = number(0, "labels asked before the policy is taught; 0 for first_share (Atari: 500)", "A.2", 0)
    half_life: float = number(2e6, "steps h in the labelling rate h / (T + h) (Atari: 5e6)", "A", 1)
    horizon: int = number(
        0,
        "environment steps by which all labels are asked; by the session's end where 0 or beyond it",
        "",
        0,
        10**12,
    )
    recency: float = number(50_000, "steps of age that halve a pair's score with selection=recency", "", 1)
    segment_steps: int = number(0, "steps of a segment; 0 for the task's own", "3.3", 0, 1000)
    repeats: str = choice("off", "whether some pairs are put to a person again, unseen", ("off", "on"), "2.2.3")
    repeat_share: float = number(0.05, "share of the pairs put to a person that are such repeats", "", 0, 0.5)
    repeat_after: int = number(20, "answers given since, at least, before a pair comes again", "", 1, 10_000)
    ready: int = number(4, "pairs kept ready for a person", "", 1, 64)
    pool: int = number(1024, "segments kept to choose from", "", 2, 16384)

    def length(self, usual: int) -> int:
        """Steps of a segment of a task whose own have so many."""
        return self.segment_steps or usual


@dataclass(frozen=True)
class OracleConfig(_Checked):
    """How the oracle departs from the paper's, which never errs: the teachers of B-Pref (Lee et al. 2021).

    skip and equal are shares of what the policy now does, as there; core.preferences.oracle says of what exactly.
    """

    mistakes: float = number(0.0, "chance that the oracle prefers the other segment", "", 0, 1)
    skip: float = number(0.0, "can't tell where both returns are below this share of the mean", "", 0, 1)
    equal: float = number(0.0, "a tie where the returns differ by less than this share of the mean", "", 0, 100)
    beta: float = number(0.0, "left is preferred with P = sigmoid(beta * difference of returns); 0 to never err", "", 0)
    myopia: float = number(1.0, "weight of each step of a segment relative to the step after it", "", 0, 1)


@dataclass(frozen=True)
class PolicyConfig(_Checked):
    """Improving the policy. These are for PPO, the interactive default; core.presets has those of the others."""

    algorithm: str = choice("ppo", "policy optimizer", ("ppo", "trpo", "a2c"), "2.2.1")
    hidden: int = number(64, "units in each of the two hidden layers", "", 1, 2048)
    vision: str = choice(
        "small", "network that sees pictures: Mnih et al. 2016's, or 2015's", ("small", "nature"), "A.2"
    )
    discount: float = number(0.99, "discount rate, per step", "A.1", 0, 0.99999)
    gae_lambda: float = number(0.95, "lambda of the generalised advantage; 1 for n-step returns", "A.1", 0, 1)
    entropy_bonus: float = number(0.01, "weight of the entropy bonus", "A.1", 0)
    learning_rate: float = number(1e-3, "step size; for TRPO that of the value function", "A.2", 0, 1)
    decay: float = number(0.0, "share of the step size that is gone, linearly, at the session's end", "A.2", 0, 1)
    clip: float = number(0.2, "PPO: how far the probability ratio may move in one update", "", 0.001, 1)
    epochs: int = number(8, "passes over one batch; for TRPO of the value function; A2C makes one", "", 1, 1000)
    minibatch: int = number(2048, "steps in one gradient step; A2C takes the whole batch", "", 1)
    max_gradient: float = number(0.5, "gradient norm is clipped to this", "", 1e-6)
    target_kl: float = number(0.03, "PPO: an update ends early when the policy has moved this far", "", 1e-6)
    excess_penalty: float = number(0.0, "PPO: weight of the squares by which mean actions go beyond the limits", "", 0)
    max_kl: float = number(0.01, "TRPO: no update moves the policy farther (mean KL divergence)", "", 1e-6)
    curvature_share: float = number(0.5, "TRPO: share of a batch that curvature is measured on", "", 1e-4, 1)
    damping: float = number(0.1, "TRPO: added to the curvature", "", 0)
    conjugate_steps: int = number(10, "TRPO: steps of conjugate gradients", "", 1, 1000)
    line_search: int = number(10, "TRPO: lengths of its step that are tried before it is given up", "", 1, 100)
    rms_decay: float = number(0.99, "A2C: RMSprop's memory of squared gradients", "A.2", 0, 0.99999)
    rms_epsilon: float = number(1e-5, "A2C: RMSprop's epsilon", "A.2", 1e-12)
    initial_std: float = number(1.0, "standard deviation of the untrained policy's actions", "", 1e-3, 10)
    lag: int = number(0, "batches that rollouts may run ahead of the policy", "", 0, 8)


@dataclass(frozen=True)
class RolloutConfig(_Checked):
    """Acting."""

    environments: int = number(128, "environments stepped together", "", 1, 16384)
    steps: int = number(96, "steps of each environment in one batch", "", 2)
    threads: int = number(0, "physics threads; 0 for one a core, where batches are large enough", "", 0, 1024)
    captured_envs: int = number(
        0, "environments that keep pictures for clips, where no simulator can draw them later", "", 0, 16384
    )
    exploration_steps: int = number(
        0, "steps at first in which the policy seeks what is new to it, before anything is asked", "", 0, 10**12
    )
    demonstrate_every: int = number(0, "batches between two recordings for the live view; 0 for none", "", 0)


@dataclass(frozen=True)
class Config(_Checked):
    """One session."""

    task: str = number("hopper-backflip", "an entry of the catalogue")
    teacher: str = choice("oracle", "who answers", ("human", "oracle", "none"))
    labels: int = number(100, "answers in the whole session", "", 0, 10_000_000)
    steps: int = number(1_000_000, "environment steps in the whole session", "", 1, 10**12)
    seed: int = number(0, "same seed, same start", "", 0, 2**63 - 1)
    device: str = choice("auto", "where networks are trained", ("auto", "cpu", "cuda"))
    reward: RewardConfig = dataclasses.field(default_factory=RewardConfig)
    query: QueryConfig = dataclasses.field(default_factory=QueryConfig)
    policy: PolicyConfig = dataclasses.field(default_factory=PolicyConfig)
    rollout: RolloutConfig = dataclasses.field(default_factory=RolloutConfig)
    oracle: OracleConfig = dataclasses.field(default_factory=OracleConfig)

    def __post_init__(self) -> None:
        if not isinstance(self.task, str):
            raise UserError(f"task is {self.task!r:.40}; name an entry of the catalogue.")
        for field in dataclasses.fields(self):
            if field.name != "task":
                _check(field, getattr(self, field.name))
        self._refuse_contradictions()

    @property
    def planned_steps(self) -> int:
        """Environment steps by which all is to be learned: a session in the window may go on after them. A shorter one
        learns all by its end."""
        return min(self.query.horizon or self.steps, self.steps)

    @property
    def explored_steps(self) -> int:
        """Environment steps after which the first pair is asked about: of a short session a quarter at most."""
        return min(self.rollout.exploration_steps, self.planned_steps // 4)

    def _refuse_contradictions(self) -> None:
        for contradicts, sentence in self._contradictions():
            if contradicts:
                raise UserError(sentence)

    def _contradictions(self) -> Iterator[tuple[bool, str]]:
        alone = self.reward.members == 1 and self.teacher != "none"
        yield (
            alone and self.query.selection != "random",
            "One predictor cannot disagree with itself: with members=1 choose selection=random (paper 3.3).",
        )
        yield (
            alone and self.reward.bonus > 0,
            "One predictor cannot disagree with itself: with members=1 set reward.bonus=0.",
        )
        yield (
            self.reward.target == "returns" and self.teacher != "oracle",
            "Only the oracle can tell true returns: with target=returns choose the oracle as teacher (paper 3.3).",
        )
        yield (
            self.reward.target == "returns" and self.oracle != OracleConfig(),
            "An oracle that tells true returns makes no choices to err in: leave out target=returns or its errors.",
        )
        yield (
            self.reward.ratio_low > self.reward.ratio_high,
            "ratio_low is above ratio_high: give the band from its lower end to its upper one.",
        )
        yield (
            self.teacher != "none" and self.labels == 0,
            "With 0 labels nothing can be learned: give --labels, or --teacher none for true reward.",
        )
        pairs, first = self.query.pool * (self.query.pool - 1) // 2, math.ceil(self.query.first_share * self.labels)
        yield (
            self.teacher != "none" and pairs < (self.query.first_labels or first),
            f"A pool of {self.query.pool} segments has too few pairs for the first labels: give a larger query.pool.",
        )
        batch = self.rollout.environments * self.rollout.steps
        yield batch > _MAX_BATCH, f"A batch of {batch:,} steps would not fit the memory: give at most {_MAX_BATCH:,}."
        yield from self._crowded()

    def _crowded(self) -> Iterator[tuple[bool, str]]:
        """What would not fit the memory, or no checkpoint."""
        members, hidden, length = self.reward.members, self.reward.hidden, self.query.segment_steps
        yield (
            members * hidden**2 > _MAX_WEIGHTS,
            f"{members} predictors of {hidden} hidden units would not fit the memory: give smaller ones"
            " (reward.hidden) or fewer (reward.members).",
        )
        for count, what in ((self.query.pool, "query.pool"), (self.rollout.environments, "rollout.environments")):
            yield (
                count * length > _MAX_KEPT,
                f"{count:,} segments of {length} steps would not fit the memory: give a smaller {what}"
                " or fewer query.segment_steps.",
            )

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(values: dict[str, Any]) -> Config:
        """Builds a config from JSON values; raises UserError for unknown names or bad values."""
        try:
            built = {name: kind(**values[name]) for name, kind in _SECTIONS.items() if name in values}
            return Config(**{**values, **built})
        except (TypeError, AttributeError) as error:
            raise UserError(f"The config is not one of this program: {error}.") from error


_SECTIONS: dict[str, type[_Checked]] = {
    "reward": RewardConfig,
    "query": QueryConfig,
    "policy": PolicyConfig,
    "rollout": RolloutConfig,
    "oracle": OracleConfig,
}


def replaced(config: Config, **changes: Any) -> Config:
    """The config with some values changed, named 'section.field' or 'field'; checked anew."""
    values = config.to_dict()
    for name, value in changes.items():
        section, _, field = name.replace("__", ".").rpartition(".")
        place = values.get(section) if section else values
        if not isinstance(place, dict) or field not in place:
            raise UserError(f"There is no setting {name.replace('__', '.')}.")
        place[field] = value
    return Config.from_dict(values)
