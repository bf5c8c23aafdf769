"""A block of a transformer that is trained to give back its input, against the CPU.

    warpwright exec --by nvtx -- python examples/python/pytorch_transformer.py [--steps N] [--compile]
"""
import torch
from torch import nn

from training import compare

WIDTH, HEADS, LENGTH = 64, 4, 16


class Block(nn.Module):
    """Attention and a perceptron, each with a normalisation before it and a sum after it."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.project, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.perceptron = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def attend(self, x):
        queries, keys, values = (
            part.unflatten(-1, (HEADS, WIDTH // HEADS)).transpose(1, 2) for part in self.project(x).chunk(3, -1)
        )
        weights = (queries @ keys.transpose(-1, -2) / (WIDTH // HEADS) ** 0.5).softmax(-1)
        return self.out((weights @ values).transpose(1, 2).flatten(2))

    def forward(self, x):
        x = x + self.attend(self.first(x))
        return x + self.perceptron(self.second(x))


def batch():
    return (torch.randn(4, LENGTH, WIDTH),)


def loss(model, inputs):
    return nn.functional.mse_loss(model(inputs), inputs)


compare(Block, batch, loss)
