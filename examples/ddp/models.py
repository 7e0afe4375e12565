# SPDX-License-Identifier: BSD-2-Clause
"""Two small models, and the data that they learn from: made here, different at each worker."""

import math

import torch
from torch import nn

BATCH = 64
ARMS = 5  # of a spiral
SYMBOLS, LENGTH, WIDTH, HEADS = 10, 8, 32, 4


class Attention(nn.Module):
    """A transformer's layer: attention, then two linear layers, each beside a short cut."""

    def __init__(self):
        super().__init__()
        self.before, self.after = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.queries_keys_values = nn.Linear(WIDTH, 3 * WIDTH)
        self.together = nn.Linear(WIDTH, WIDTH)
        self.forward_on = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(),
                                        nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x):
        batch, length, _ = x.shape
        parts = self.queries_keys_values(self.before(x)).view(batch, length, 3, HEADS, -1)
        queries, keys, values = parts.permute(2, 0, 3, 1, 4)
        scores = (queries @ keys.transpose(-2, -1)) / math.sqrt(WIDTH / HEADS)
        seen = scores.softmax(-1) @ values
        x = x + self.together(seen.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.forward_on(self.after(x))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.symbols = nn.Embedding(SYMBOLS, WIDTH)
        self.places = nn.Parameter(0.1 * torch.randn(LENGTH, WIDTH))
        self.layers = nn.Sequential(Attention(), Attention())
        self.out = nn.Linear(WIDTH, SYMBOLS)

    def forward(self, x):
        return self.out(self.layers(self.symbols(x) + self.places)).flatten(0, 1)


def mlp():
    return nn.Sequential(nn.Linear(2, 96), nn.Tanh(), nn.Linear(96, 96), nn.Tanh(),
                         nn.Linear(96, ARMS))


def spirals(random):
    """Points of a plane, and on which arm of a spiral each of them is."""
    arm = torch.randint(ARMS, (BATCH,), generator=random)
    radius = torch.rand(BATCH, generator=random)
    angle = 2 * math.pi * arm / ARMS + 4 * radius + 0.1 * torch.randn(BATCH, generator=random)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], 1), arm


def sequences(random):
    """Rows of symbols, and at each place the largest one up to there."""
    rows = torch.randint(SYMBOLS, (BATCH, LENGTH), generator=random)
    return rows, rows.cummax(1).values.flatten()


# By name: what makes the model, what makes a batch, and how SGD learns: its rate and momentum. Not
# faster, where rounding would decide on the way: then two runs of Gloo's differ, too.
MODELS = {
    "mlp": (mlp, spirals, {"lr": 0.1, "momentum": 0.9}),
    "transformer": (Transformer, sequences, {"lr": 0.1, "momentum": 0.5}),
}
