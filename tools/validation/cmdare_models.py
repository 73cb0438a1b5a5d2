# SPDX-License-Identifier: Apache-2.0
"""The four networks of CM-DARE as their parameter servers see them: variables, servers, messages of a step.

Read from the sources of Tensor2Tensor that CM-DARE ran (models/resnet.py, models/shake_shake.py,
utils/expert_utils.py, utils/optimize.py); the numbers, sums and largest sizes of the trainable variables that follow
are those of CM-DARE's table, exactly.

- Variables in order of creation. A convolution of shake-shake has a bias, one of resnet has none; a batch
  normalisation has gamma, beta, moving mean and moving variance. TensorFlow deals all of them in turn to the servers.
  A layer of shake-shake creates 6, an even number, so that with two servers every kernel lies on the same one; one of
  resnet creates 5, so that kernels alternate.
- A worker reads every variable through a copy of its own, the moving ones too, and sends a gradient of each trainable
  and a difference of each moving one: one pull and one push of each.
- The loss waits until each moving one has been updated: an empty message from the server for each.
- Weight decay is computed beside the variable: a number from the server for each trainable variable but biases.
"""
import typing


class Variable(typing.NamedTuple):
    kind: str  # kernel, bias, scale (gamma and beta) or moving
    size: int  # numbers of 4 bytes

    @property
    def trainable(self):
        return self.kind != 'moving'


def batch_norm(channels):
    return [Variable(kind, channels) for kind in ('scale', 'scale', 'moving', 'moving')]


def convolution(width, inputs, outputs, bias):
    return [Variable('kernel', width * width * inputs * outputs)] + [Variable('bias', outputs)] * bias


def classes(channels):
    return [Variable('kernel', 10 * channels), Variable('bias', 10)]


def resnet(blocks):
    """resnet_v2 of residual blocks, `blocks` in each of three groups."""
    variables, inputs = convolution(7, 3, 16, False) + batch_norm(16), 16
    for outputs in (32, 64, 128):
        for block in range(blocks):
            variables += batch_norm(inputs)
            if block == 0:
                variables += convolution(1, inputs, outputs, False) + batch_norm(outputs)
            variables += convolution(3, inputs, outputs, False) + batch_norm(outputs)
            variables += convolution(3, outputs, outputs, False)
            inputs = outputs
    return variables + classes(inputs)


def shake_shake(width):
    """26 layers of two branches; `width` channels in the first of three groups."""
    variables, inputs = convolution(3, 3, 16, True) + batch_norm(16), 16
    for outputs in (width, 2 * width, 4 * width):
        for _ in range(4):
            for _ in range(2):
                variables += convolution(3, inputs, outputs, True) + batch_norm(outputs)
                variables += convolution(3, outputs, outputs, True) + batch_norm(outputs)
            if inputs != outputs:
                variables += 2 * convolution(1, inputs, outputs // 2, True) + batch_norm(outputs)
            inputs = outputs
    return variables + classes(inputs)


MODELS = {'resnet15': resnet(2), 'resnet32': resnet(5), 'shake_shake_small': shake_shake(32),
          'shake_shake_big': shake_shake(96)}


def messages(variables):
    """(name, bytes, pushed, number of the variable that it belongs to) of all that is pulled."""
    rows = []
    for i, v in enumerate(variables):
        rows.append((f'v{i}', 4 * v.size, True, i))
        if v.kind == 'moving':
            rows.append((f'v{i}/updated', 1, False, i))
        elif v.kind != 'bias':
            rows.append((f'v{i}/decay', 4, False, i))
    return rows


def workload(model):
    """One second of compute, a third of it forward, between the last pull and the first push."""
    rows = messages(MODELS[model])
    forward = 10**12 // 3
    ops = [{'name': 'forward', 'phase': 'forward', 'time_ps': forward, 'reads': [name for name, _, _, _ in rows]},
           {'name': 'backward', 'phase': 'backward', 'time_ps': 10**12 - forward, 'inputs': ['forward']}]
    parameters = [{'name': name, 'bytes': size, 'trainable': pushed} | ({'gradient': 'backward'} if pushed else {})
                  for name, size, pushed, _ in rows]
    return {'format': 'stretto-workload', 'version': 1, 'name': model, 'source': 'sources of Tensor2Tensor', 'batch': 1,
            'ops': ops, 'parameters': parameters}


def placement(model, servers):
    """Server of each message: variables are dealt in turn, and what belongs to one lies beside it."""
    return {name: i % servers for name, _, _, i in messages(MODELS[model])}
