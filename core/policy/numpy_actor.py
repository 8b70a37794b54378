"""A Gaussian policy that acts in plain arrays: for the rows of a single step numpy takes half of torch's time."""

from __future__ import annotations

import numpy as np

from core.policy.actor_critic import OBSERVATION_LIMIT, GaussianActorCritic
from core.types import Float32


class NumpyActor:
    """Acts by the network's own weights: arrays that share memory with its tensors, and so are always as these are.

    How many rows there are and where they lie decides how their sums are rounded; what acts at different places must
    have the same rows there (core.jobs.collectors). core.nn.threads.allow keeps numpy to one thread, for the same reason.
    """

    def __init__(self, network: GaussianActorCritic) -> None:
        """network: one on the CPU"""
        self._layers = [leaf.detach().numpy() for leaf in network.policy_leaves]
        self._mean, self._std = network.mean.numpy(), network.std.numpy()
        self._constant = network.constant

    def __call__(self, observations: Float32, rng: np.random.Generator | None) -> tuple[Float32, Float32]:
        """As ActorCritic.sample: (N, o) -> actions (N, a) and their log densities (N,)."""
        *layers, log_std = self._layers
        means = self._means(observations, layers)
        peak = -float(log_std.sum()) - self._constant
        if rng is None:
            return means, np.full(len(means), peak, np.float32)
        noise = rng.standard_normal(means.shape, np.float32)
        log_density: Float32 = np.einsum("ba,ba->b", noise, noise)
        log_density *= -0.5
        log_density += np.float32(peak)
        noise *= np.exp(log_std)
        noise += means
        return noise, log_density

    def _means(self, observations: Float32, layers: list[Float32]) -> Float32:
        x: Float32 = observations - self._mean
        x /= self._std
        np.clip(x, -OBSERVATION_LIMIT, OBSERVATION_LIMIT, out=x)
        for i in range(0, len(layers), 2):
            if i:
                np.tanh(x, out=x)
            x = x @ layers[i]
            x += layers[i + 1]
        return x
