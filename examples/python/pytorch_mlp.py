"""A perceptron of three layers that is trained, against the CPU.

    warpwright exec --by nvtx -- python examples/python/pytorch_mlp.py [--steps N] [--compile]
"""
import torch
from torch import nn

from training import compare


def model():
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))


def batch():
    return torch.randn(32, 64), torch.randint(10, (32,))


def loss(model, inputs, labels):
    return nn.functional.cross_entropy(model(inputs), labels)


compare(model, batch, loss)
