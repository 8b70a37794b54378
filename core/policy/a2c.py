"""Advantage actor-critic (Mnih et al. 2016, synchronous form): the paper's optimizer for Atari (A.2).

It takes one gradient step on each small batch. The paper names Adam, but its numbers (alpha = .99, epsilon = 1e-5) are
those of RMSprop, which Mnih et al. and this module use. PyTorch's RMSprop adds epsilon to the root of the mean square,
theirs to the mean square itself: with small gradients PyTorch's steps are larger.
"""

from collections.abc import Iterator

from core.nn.optimizers import Optimizer, RMSprop
from core.policy.on_policy import OnPolicyOptimizer, TrainingBatch
from core.policy.ppo import value_loss


class A2C(OnPolicyOptimizer):
    """One gradient step per batch. With gae_lambda 1, advantages are n-step returns minus values, n the steps of a batch.

    A batch of an earlier policy (config.policy.lag) is weighted by the ratio of probabilities. Otherwise the ratio is
    1 and its gradient is that of the log probability.
    """

    differentiable_values = True

    def _make_optimizer(self) -> Optimizer:
        config = self.config
        return RMSprop([self.network.weights], config.learning_rate, config.rms_decay, config.rms_epsilon)

    def _improve(self, batch: TrainingBatch) -> Iterator[None]:
        network = self.network
        distribution = batch.distribution
        assert distribution is not None
        log_ratio = network.log_probs(distribution, batch.actions) - batch.log_probs  # (B,)
        assert log_ratio.shape == batch.advantages.shape
        ratio = log_ratio.exp()
        entropy = network.entropy(distribution)
        squared_error = value_loss(batch.values, batch.returns)
        self.descend(squared_error - (ratio * batch.advantages).mean() - self.config.entropy_bonus * entropy)
        yield
