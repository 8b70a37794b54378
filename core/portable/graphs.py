"""ONNX graphs of the policy and of the predicted reward, built from a session's networks.

Their inputs are the environment's raw observations and actions in the simulator's own units: normalization, limits and
scaling are part of the graph. All arithmetic is float32.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from core.api import Normalizer
from core.nn.image_input import MAX_PIXEL
from core.nn.stacked_cnn import LAYERS, StackedCNN
from core.nn.stacked_mlp import LEAK
from core.policy.cnn_actor_critic import KINDS
from core.policy.policy_network import OBSERVATION_LIMIT, PolicyNetwork
from core.policy.squashed_policy import SquashedPolicy
from core.reward.ensemble import LIMIT, RewardEnsemble
from core.reward.image_ensemble import ImageEnsemble
from core.types import Float32

OPSET, IR_VERSION = 17, 8
"""Opset and IR version of ONNX 1.12 (2022), which every later runtime supports."""
BATCH = "batch"
"""Name of the first dimension of all inputs and outputs; any number of rows can be evaluated at once."""


@dataclass(frozen=True)
class Controls:
    """The environment's own form of an observation and an action.

    observation: shape of one observation; pictures: whether it is uint8 pixels
    action: shape of one action; () for a discrete one
    low, rest, high: controls (a,) for the continuous actions -1, 0 and 1, of which -1 and 1 are the limits; None for a
        discrete action
    first: number of the first discrete action; dtype: data type of a continuous action
    """

    observation: tuple[int, ...]
    pictures: bool
    action: tuple[int, ...]
    low: Float32 | None = None
    rest: Float32 | None = None
    high: Float32 | None = None
    first: int = 0
    dtype: str = "float32"

    @property
    def discrete(self) -> bool:
        return self.low is None


class Graph:
    """A graph under construction; `add` appends a node and returns the name of its output."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def constant(self, values: Any, dtype: Any = np.float32) -> str:
        name = f"constant_{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(np.asarray(values, dtype)), name))
        return name

    def add(self, op: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """Add a node and return the name of its output. op: an ONNX operator; output: its name, or '' for a new one"""
        name = output or f"{op.lower()}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(op, [*inputs], [name], **attributes))
        return name

    def model(self, name: str, inputs: list[Any], outputs: list[Any]) -> onnx.ModelProto:
        graph = helper.make_graph(self._nodes, name, inputs, outputs, self._constants)
        made = helper.make_model(
            graph,
            producer_name="somersault",
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
        )
        onnx.checker.check_model(made, full_check=True)
        return made


def policy_model(network: PolicyNetwork, controls: Controls, vision: str) -> onnx.ModelProto:
    """Return the model observation -> action, without noise; for discrete actions also -> their log probabilities."""
    graph = Graph()
    x = _input(graph, controls)
    parameters = [parameter.detach().numpy() for parameter in network.policy_parameters]
    if controls.pictures:
        for number, (_, _, stride) in enumerate(KINDS[vision][0]):
            weight, bias = parameters[2 * number : 2 * number + 2]
            filters = graph.constant(weight / MAX_PIXEL if number == 0 else weight)
            x = graph.add("Relu", graph.add("Conv", x, filters, graph.constant(bias), strides=[stride, stride]))
        x = graph.add("Flatten", x, axis=1)
        x = graph.add("Relu", _linear(graph, x, *parameters[-4:-2]))
        x = _linear(graph, x, *parameters[-2:])
    else:
        mean, std = graph.constant(network.mean.numpy()), graph.constant(network.std.numpy())
        x = graph.add("Div", graph.add("Sub", x, mean), std)
        x = _clip(graph, x, -OBSERVATION_LIMIT, OBSERVATION_LIMIT)
        layers, squashed = parameters, isinstance(network, SquashedPolicy)
        if isinstance(network, SquashedPolicy):  # the other outputs are the noise
            size = network.action_size
            layers = [*parameters[:-2], parameters[-2][:, :size], parameters[-1][:size]]
        elif not controls.discrete:
            layers = parameters[:-1]  # the last is the noise
        for number in range(0, len(layers), 2):
            x = graph.add("Relu" if squashed else "Tanh", x) if number else x
            x = _linear(graph, x, *layers[number : number + 2])
        x = graph.add("Tanh", x) if squashed else x
    outputs = [_action_output(controls)]
    if controls.discrete:
        logs = graph.add("LogSoftmax", x, output="log_probability", axis=1)
        best = graph.add("ArgMax", logs, axis=1, keepdims=0)
        graph.add("Add", best, graph.constant(controls.first, np.int64), output="action")
        outputs.append(_value("log_probability", TensorProto.FLOAT, (parameters[-1].shape[-1],)))
    else:
        _to_controls(graph, x, controls)
    return graph.model("policy", [_observation_input(controls)], outputs)


def _to_controls(graph: Graph, x: str, controls: Controls) -> None:
    """Scale x (batch, a) to the simulator's units, within its limits."""
    assert controls.low is not None and controls.high is not None
    rest, down, up = _scale(controls)
    above, below = _signs(graph, _clip(graph, x, -1, 1))
    scaled = graph.add("Add", graph.add("Mul", above, graph.constant(up)), graph.constant(rest))
    scaled = graph.add("Add", scaled, graph.add("Mul", below, graph.constant(down)))
    scaled = graph.add("Max", graph.add("Min", scaled, graph.constant(controls.high)), graph.constant(controls.low))
    if len(controls.action) != 1:
        scaled = graph.add("Reshape", scaled, graph.constant([-1, *controls.action], np.int64))
    graph.add("Cast", scaled, output="action", to=_element(controls.dtype))


def reward_model(
    ensemble: RewardEnsemble | ImageEnsemble, normalizer: Normalizer, controls: Controls
) -> onnx.ModelProto:
    """Return the model (observation, action) -> reward of core.api.LearnedReward; without action if predictors see none."""
    graph = Graph()
    x = _input(graph, controls)
    inputs = [_observation_input(controls)]
    if isinstance(ensemble, ImageEnsemble):
        raw = _image_members(graph, x, ensemble.network)
    else:
        if ensemble.see_actions:
            inputs.append(_action_output(controls))
            x = graph.add("Concat", x, _from_controls(graph, controls, ensemble), axis=1)
        raw = _vector_members(graph, x, ensemble)
    means, deviations = (graph.constant(values[:, None]) for values in (normalizer.means, normalizer.deviations))
    standard = graph.add("Div", graph.add("Sub", raw, means), deviations)
    mean = graph.add("ReduceMean", standard, axes=[0], keepdims=0)
    centred = graph.add("Sub", mean, graph.constant(normalizer.mean))
    graph.add("Mul", centred, graph.constant(normalizer.factor), output="reward")
    return graph.model("predicted_reward", inputs, [_value("reward", TensorProto.FLOAT, ())])


def _from_controls(graph: Graph, controls: Controls, ensemble: RewardEnsemble) -> str:
    """Convert the input action to the predictors' form: from -1 to 1, or one-hot."""
    if controls.discrete:
        count = graph.constant([_action_count(ensemble, controls)], np.int64)
        number = graph.add("Sub", "action", graph.constant(controls.first, np.int64))
        return graph.add("OneHot", number, count, graph.constant([0.0, 1.0]), axis=-1)
    rest, *reaches = _scale(controls)
    down, up = (np.where(reach > 0, reach, 1) for reach in reaches)  # if rest is a limit, nothing lies beyond it
    x = "action" if controls.dtype == "float32" else graph.add("Cast", "action", to=TensorProto.FLOAT)
    x = graph.add("Flatten", x, axis=1) if len(controls.action) != 1 else x
    above, below = _signs(graph, graph.add("Sub", x, graph.constant(rest)))
    x = graph.add("Add", graph.add("Div", above, graph.constant(up)), graph.add("Div", below, graph.constant(down)))
    return _clip(graph, x, -1, 1)


def _action_count(ensemble: RewardEnsemble, controls: Controls) -> int:
    return len(ensemble.mean) - int(np.prod(controls.observation))


def _vector_members(graph: Graph, x: str, ensemble: RewardEnsemble) -> str:
    """Map inputs (batch, inputs) to raw predictions (M, batch)."""
    network = ensemble.network
    x = graph.add("Sub", x, graph.constant(ensemble.mean.numpy()))
    x = _clip(graph, graph.add("Div", x, graph.constant(ensemble.std.numpy())), -LIMIT, LIMIT)
    for number, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
        if number:
            x = graph.add("LeakyRelu", x, alpha=LEAK)
        x = graph.add("MatMul", x, graph.constant(weight.detach().numpy()))  # (M, batch, ...) from the first layer on
        x = graph.add("Add", x, graph.constant(bias.detach().numpy()))
    return graph.add("Squeeze", x, graph.constant([2], np.int64))


def _image_members(graph: Graph, x: str, network: StackedCNN) -> str:
    """Map pixels (batch, n, h, w) to raw predictions (M, batch)."""
    members = network.members
    for layer, (_, stride) in enumerate(LAYERS):
        filters, offsets = network.folded_filters(layer)
        constants = graph.constant(filters.detach().numpy()), graph.constant(offsets.detach().numpy())
        x = graph.add("Conv", x, *constants, strides=[stride, stride], group=members if layer else 1)
        x = graph.add("LeakyRelu", x, alpha=LEAK)
    x = graph.add("Reshape", x, graph.constant([0, members, -1], np.int64))
    x = graph.add("Transpose", x, perm=[1, 0, 2])
    weights = [weight.detach().numpy() for weight in list(network.weights)[len(LAYERS) :]]
    biases = [bias.detach().numpy() for bias in network.biases]
    x = graph.add("Add", graph.add("MatMul", x, graph.constant(weights[0])), graph.constant(biases[0]))
    x = graph.add("LeakyRelu", x, alpha=LEAK)
    x = graph.add("Add", graph.add("MatMul", x, graph.constant(weights[1])), graph.constant(biases[1]))
    return graph.add("Squeeze", x, graph.constant([2], np.int64))


def _input(graph: Graph, controls: Controls) -> str:
    """Convert the observation to the networks' form: rows of numbers, or pictures (batch, n, h, w) in float32."""
    if controls.pictures:
        return graph.add("Cast", "observation", to=TensorProto.FLOAT)
    return "observation" if len(controls.observation) == 1 else graph.add("Flatten", "observation", axis=1)


def _linear(graph: Graph, x: str, weight: Any, bias: Any) -> str:
    return graph.add("Gemm", x, graph.constant(weight), graph.constant(bias))


def _clip(graph: Graph, x: str, low: float, high: float) -> str:
    return graph.add("Clip", x, graph.constant(low), graph.constant(high))


def _signs(graph: Graph, x: str) -> tuple[str, str]:
    """Split x into its positive and its negative part, which add up to x."""
    above = graph.add("Relu", x)
    return above, graph.add("Sub", x, above)


def _scale(controls: Controls) -> tuple[Float32, Float32, Float32]:
    """Return the control at rest and the widths of the ranges below and above it, (a,) each, of a continuous action."""
    assert controls.low is not None and controls.rest is not None and controls.high is not None
    low, rest, high = (part.astype(np.float64) for part in (controls.low, controls.rest, controls.high))
    return rest.astype(np.float32), (rest - low).astype(np.float32), (high - rest).astype(np.float32)


def _observation_input(controls: Controls) -> onnx.ValueInfoProto:
    kind = TensorProto.UINT8 if controls.pictures else TensorProto.FLOAT
    return _value("observation", kind, controls.observation)


def _action_output(controls: Controls) -> onnx.ValueInfoProto:
    kind = TensorProto.INT64 if controls.discrete else _element(controls.dtype)
    return _value("action", kind, controls.action)


def _element(dtype: str) -> int:
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def _value(name: str, kind: int, shape: tuple[int, ...]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, [BATCH, *shape])
