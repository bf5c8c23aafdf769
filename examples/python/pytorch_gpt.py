"""A small GPT: trains on a text, then continues it, against the CPU.

    warpwright exec --by nvtx -- python examples/python/pytorch_gpt.py [--steps N] [--compile]
"""
import copy

import torch
from torch import nn

from training import DEVICE, compare, span

TEXT = "the warp waits for the load, the load waits for the line, the line waits for the row. " * 4
LETTERS = sorted(set(TEXT))
TOKENS = torch.tensor([LETTERS.index(letter) for letter in TEXT])
WIDTH, HEADS, LAYERS, CONTEXT = 32, 2, 2, 16


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.project, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.perceptron = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        split = self.project(self.first(x)).unflatten(-1, (3, HEADS, WIDTH // HEADS))
        queries, keys, values = split.permute(2, 0, 3, 1, 4)
        scores = queries @ keys.transpose(-1, -2) / (WIDTH // HEADS) ** 0.5
        later = torch.ones(scores.shape[-2:], device=x.device).triu(1).bool()
        weights = scores.masked_fill(later, float("-inf")).softmax(-1)
        x = x + self.out((weights @ values).transpose(1, 2).flatten(2))
        return x + self.perceptron(self.second(x))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.letter, self.place = nn.Embedding(len(LETTERS), WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, len(LETTERS))

    def forward(self, tokens):
        places = torch.arange(tokens.shape[-1], device=tokens.device)
        return self.head(self.norm(self.blocks(self.letter(tokens) + self.place(places))))


def batch():
    starts = torch.randint(len(TOKENS) - CONTEXT, (8,)).tolist()
    pieces = torch.stack([TOKENS[start : start + CONTEXT + 1] for start in starts])
    return pieces[:, :-1], pieces[:, 1:]


def loss(model, inputs, following):
    return nn.functional.cross_entropy(model(inputs).flatten(0, 1), following.flatten())


@torch.no_grad()
def generate(model, device, count=8):
    tokens = TOKENS[:CONTEXT].to(device)
    for _ in range(count):
        with span("token"):
            tokens = torch.cat([tokens, model(tokens[None, -CONTEXT:])[0, -1].argmax()[None]])
    return "".join(LETTERS[token] for token in tokens[CONTEXT:].tolist())


model = compare(Gpt, batch, loss)
# Both sides continue with the same weights.
text, wanted = generate(model, DEVICE), generate(copy.deepcopy(model).cpu(), "cpu")
print(f"continues with {text!r}")
if text != wanted:
    raise SystemExit(f"text: FAILED: {wanted!r} on cpu")
print("text: PASSED")
