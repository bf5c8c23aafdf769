"""A small network of convolutions that is trained, against the CPU. Without cuDNN, ATen's own convolutions run.

    warpwright exec --by nvtx -- python examples/python/pytorch_cnn.py [--steps N] [--compile]
"""
import torch
from torch import nn

from training import compare


def model():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, 10),
    )


def batch():
    return torch.randn(4, 1, 16, 16), torch.randint(10, (4,))


def loss(model, images, labels):
    return nn.functional.cross_entropy(model(images), labels)


compare(model, batch, loss)
