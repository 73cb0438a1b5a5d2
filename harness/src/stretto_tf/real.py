# SPDX-License-Identifier: Apache-2.0
"""One worker's training step of a real network (tf_slim's), computed on the processor.

Weight decay is left out, 1000 classes, inputs drawn at random on the worker, SGD, variables dealt to the servers as the
policy's transfers say. With several workers a step ends in a barrier; each worker's gradients are applied as they come.
"""
import os
import sys
from typing import Any

from . import emulated, enforce, schedule
from .bundle import Bundle, Model, Policy

# Name: (module of tf_slim.nets, function, scope of arguments, height and width of the images)
NETS = {
    'alexnet_v2': ('alexnet', 'alexnet_v2', 'alexnet_v2_arg_scope', 224),
    'inception_v1': ('inception_v1', 'inception_v1', 'inception_v1_arg_scope', 224),
    'inception_v2': ('inception_v2', 'inception_v2', 'inception_v2_arg_scope', 224),
    'inception_v3': ('inception_v3', 'inception_v3', 'inception_v3_arg_scope', 299),
    'resnet_50_v1': ('resnet_v1', 'resnet_v1_50', 'resnet_arg_scope', 224),
    'resnet_101_v1': ('resnet_v1', 'resnet_v1_101', 'resnet_arg_scope', 224),
    'resnet_152_v1': ('resnet_v1', 'resnet_v1_152', 'resnet_arg_scope', 224),
    'resnet_50_v2': ('resnet_v2', 'resnet_v2_50', 'resnet_arg_scope', 224),
    'resnet_101_v2': ('resnet_v2', 'resnet_v2_101', 'resnet_arg_scope', 224),
    'vgg_16': ('vgg', 'vgg_16', 'vgg_arg_scope', 224),
    'vgg_19': ('vgg', 'vgg_19', 'vgg_arg_scope', 224)}


def prepare() -> None:
    """To be called before TensorFlow is imported. tf_slim 1.1.0 was written for Keras 2."""
    os.environ['TF_USE_LEGACY_KERAS'] = '1'
    import tf_keras.src.legacy_tf_layers as layers
    import tf_keras.src.legacy_tf_layers.normalization as normalization
    sys.modules['tf_keras.legacy_tf_layers'] = layers
    sys.modules['tf_keras.legacy_tf_layers.normalization'] = normalization


def _loss(model: Model) -> Any:
    import importlib

    import tensorflow as tf
    import tf_slim as slim
    module_name, function, scope, size = NETS[model.name]
    module = importlib.import_module(f'tf_slim.nets.{module_name}')
    arguments: dict[str, Any] = {'weight_decay': 0.0}
    if scope == 'resnet_arg_scope':
        arguments['batch_norm_scale'] = False
    images = tf.random.uniform([model.batch, size, size, 3], seed=1)
    labels = tf.random.uniform([model.batch], maxval=1000, dtype=tf.int32, seed=2)
    if module_name.startswith('inception'):
        from tf_slim.nets import inception as all_inceptions
        scope_function = getattr(all_inceptions, scope)
    else:
        scope_function = getattr(module, scope)
    with slim.arg_scope(scope_function(**arguments)):
        logits, ends = getattr(module, function)(images, num_classes=1000, is_training=True)
    logits = tf.reshape(logits, [model.batch, 1000])
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    if 'AuxLogits' in ends:
        auxiliary = tf.reshape(ends['AuxLogits'], [model.batch, 1000])
        loss += 0.4 * tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=auxiliary))
    return loss


def build(bundle: Bundle, policy: Policy, policy_index: int, worker: int, as_it_is: bool = False) -> emulated.Step:
    """Stamps have the tags of emulated.py. Variables have the names that they have in every program.

    `as_it_is`: without stamps and order.
    """
    import tensorflow as tf
    from . import oplib
    ops = oplib.load()
    v1 = tf.compat.v1
    assert bundle.model
    here = f'/job:worker/task:{worker}'
    asked = schedule.from_policy(bundle, policy)
    index = {name: i for i, name in enumerate(asked.variables)}

    def device(op: Any) -> str:
        if op.type not in enforce.VARIABLES:
            return here + '/cpu:0'
        known = asked.variables.get(op.name)
        return f'/job:ps/task:{known.server if known else 0}/cpu:0'

    def stamp(kind: int) -> enforce.Stamp:
        unknown = len(index)
        return lambda value, name: ops.stretto_stamp(
            value=value, tag=emulated.tag(worker, kind, index.get(name, unknown)))

    graph = tf.Graph()
    with graph.as_default():
        v1.set_random_seed(1)
        with v1.device(device):
            loss = _loss(bundle.model)
            train = v1.train.GradientDescentOptimizer(1e-4).minimize(loss)
        averages = v1.get_collection(v1.GraphKeys.UPDATE_OPS)
        with v1.device('/job:ps/task:0/cpu:0'), tf.control_dependencies([train, *averages]):
            if bundle.sync and bundle.cluster.workers > 1:
                step = ops.stretto_barrier(meeting=f'step{policy_index}', parties=bundle.cluster.workers)
            else:
                step = tf.no_op()
        drains = []
        for place in [here, *(f'/job:ps/task:{i}' for i in range(bundle.cluster.servers))]:
            with v1.device(place + '/cpu:0'):
                drains.append(ops.stretto_drain())
        init = v1.global_variables_initializer()
        if not as_it_is:
            enforce.rewrite(graph, asked, stamp(emulated.PULL), stamp(emulated.PUSH))
    return emulated.Step(graph, init, step, drains)
