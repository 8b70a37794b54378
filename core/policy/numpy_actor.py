"""A Gaussian policy evaluated with NumPy, which takes half of torch's time for the rows of a single step."""

import numpy as np

from core.policy.actor_critic import GaussianActorCritic
from core.policy.policy_network import OBSERVATION_LIMIT
from core.types import Float32


class NumpyActor:
    """Acts with a network's weights, through arrays that share memory with its tensors and so follow their changes.

    The rounding of sums depends on the number of rows and their alignment: processes that must act identically need
    batches of the same rows (core.jobs.collectors). core.nn.threads limits NumPy to one thread for the same reason.
    """

    def __init__(self, network: GaussianActorCritic) -> None:
        self._parameters = [parameter.detach().numpy() for parameter in network.policy_parameters]
        self._mean, self._std = network.mean.numpy(), network.std.numpy()
        self._log_normalizer = network.log_normalizer

    def __call__(self, observations: Float32, rng: np.random.Generator | None) -> tuple[Float32, Float32]:
        """Return actions (N, a) and log densities (N,) for observations (N, o) float32; the means if rng is None."""
        *layers, log_std = self._parameters
        x: Float32 = observations - self._mean
        x /= self._std
        np.clip(x, -OBSERVATION_LIMIT, OBSERVATION_LIMIT, out=x)
        for i in range(0, len(layers), 2):
            if i:
                np.tanh(x, out=x)
            x = x @ layers[i]
            x += layers[i + 1]
        means, peak = x, -float(log_std.sum()) - self._log_normalizer
        if rng is None:
            return means, np.full(len(means), peak, np.float32)
        noise = rng.standard_normal(means.shape, np.float32)
        log_density: Float32 = np.einsum("ba,ba->b", noise, noise)
        log_density *= -0.5
        log_density += np.float32(peak)
        noise *= np.exp(log_std)
        noise += means
        return noise, log_density
