"""Trains a model of PyTorch on the GPU and on the CPU, from the same start with the same data, and compares the losses.

Of the scripts `pytorch_*.py`. Without a GPU both sides are the CPU. `--compile` compiles the model of the first side,
`--steps N` sets the number of steps. The parts of a step are NVTX ranges: `warpwright exec --by nvtx`.
"""
import argparse
import contextlib
import copy

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

# There is no cuDNN: ATen's own kernels take over. Sums are in single precision on both sides.
torch.backends.cudnn.enabled = False
torch.backends.cuda.matmul.allow_tf32 = False


def span(name):
    """A range in which what follows is launched."""
    return torch.cuda.nvtx.range(name) if DEVICE == "cuda" else contextlib.nullcontext()


def name_layers(model):
    """Makes a range of the forward pass of each part of a model."""
    for name, layer in model.named_modules():
        if name and not any(layer.children()) and DEVICE == "cuda":
            layer.register_forward_pre_hook(lambda *_, name=name: torch.cuda.nvtx.range_push(name) and None)
            layer.register_forward_hook(lambda *_: torch.cuda.nvtx.range_pop() and None)


def train(model, batches, loss_of, device, rate):
    """The loss of each step on `device`."""
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    losses = []
    for batch in batches:
        with span("step"):
            batch = [tensor.to(device) for tensor in batch]
            with span("forward"):
                loss = loss_of(model, *batch)
            with span("backward"):
                loss.backward()
            with span("update"):
                optimizer.step()
                optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--compile", action="store_true")
    return parser.parse_args()


def compare(make_model, make_batch, loss_of, rate=0.05):
    """Trains on both sides. Returns the model of the GPU. Losses that differ end the script."""
    given = options()
    torch.manual_seed(0)
    reference = make_model()
    model = copy.deepcopy(reference).to(DEVICE)
    batches = [make_batch() for _ in range(given.steps)]
    if not given.compile:
        name_layers(model)
    losses = train(torch.compile(model) if given.compile else model, batches, loss_of, DEVICE, rate)
    wanted = train(reference, batches, loss_of, "cpu", rate)
    for step, (loss, want) in enumerate(zip(losses, wanted)):
        print(f"step {step}: loss {loss:.6f} on {DEVICE}, {want:.6f} on cpu")
    if not torch.allclose(torch.tensor(losses), torch.tensor(wanted), rtol=1e-3, atol=1e-4):
        raise SystemExit("losses: FAILED")
    print("losses: PASSED")
    return model
