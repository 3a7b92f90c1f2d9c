"""Mean TTFT and TPOT of a closed loop: a fixed number of requests in flight, each followed by the next.

The physics is the planner's own (MODEL.md sections 3, 9 and 10) with the concurrency given instead of the arrival
rate. With ``N`` requests in flight, ``L`` prompt and ``O`` output tokens, ``p = prefill_s(L, 0) / ways`` the share of
the instance that one prompt takes, ``d(b) = decode_s(b, L + O/2)`` and ``T = TTFT + (O - 1) TPOT`` one cycle::

    rate      X = N / T                        (Little's law)
    in decode b = X (O - 1) TPOT
    step      TPOT = d(b) / (1 - (N - 1)/N * X * p')   chunked prefill mixed into decode steps (section 10)
    TTFT      = residual step + wait for others' prefills + p + chunks * d(b)

where ``p'`` is ``p`` less what a pass costs once, as far as a decode step or another prompt in the same pass pays it.

Prompts wait for prefill as customers of a machine-repair queue (mean-value analysis, service halved for the one under
way because it hardly varies). A benchmark starts with all ``N`` at once: that burst is ``BURST`` of its requests, and
waits for half of its own prefills. Where the KV of the sequences in flight does not fit, they wait for a slot.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from planner.physics.timing import Timing

BURST = 0.1  # share of requests in the opening burst: ten rounds of requests, as InferenceX sends
ROUNDS = 60  # of the fixed point, at most
SETTLED = 1e-4  # relative change at which it has settled
CHUNK_TOKENS = 8192  # of a prefill pass


@dataclass(frozen=True)
class Load:
    """The benchmark: requests in flight and their lengths."""

    concurrency: int
    prompt: int
    output: int

    @property
    def context(self) -> float:
        """Mean context of the generation steps."""
        return self.prompt + self.output / 2


@dataclass(frozen=True)
class Prediction:
    """Means over the benchmark, in seconds, and what they rest on."""

    ttft_s: float
    tpot_s: float
    batch: float  # sequences in decode, per instance
    prefill_share: float  # of the prefilling instance's time


@dataclass(frozen=True)
class Pool:
    """Identical instances: their corrected times, prefill ways, and how many sequences fit in their KV memory."""

    timing: Timing
    ways: int
    instances: int
    slots: float = math.inf  # per instance

    @cached_property
    def servers(self) -> int:
        """Prefill passes side by side: one per instance; the ways of a pass share it."""
        return self.instances


def colocated(pool: Pool, load: Load, chunk_tokens: int = CHUNK_TOKENS, first_token_s: float = 0.0) -> Prediction:
    """One instance (or several behind an even balancer) that prefills and decodes."""
    n = load.concurrency / pool.instances
    running = min(n, max(pool.slots, 1.0))
    ways = min(float(pool.ways), max(running, 1.0))
    chunks = math.ceil(load.prompt / chunk_tokens)
    once, each = _parts(pool.timing, load.prompt, ways)
    decode_once = pool.timing.decode_s(ways, 1.0)  # weights and launches, which a chunk in the same step has paid
    steps = max(load.output - 1, 1)
    tpot = pool.timing.decode_s(running, load.context)
    ttft, batch, share, joined = once + each + tpot, running, 0.0, 1.0
    for _ in range(ROUNDS):
        cycle = ttft + steps * tpot
        batch = max(running * steps * tpot / cycle, min(running, 1.0))
        step = pool.timing.decode_s(batch, load.context)
        paid = chunks * min(decode_once, step, 0.5 * (once + each) / chunks)
        alone, work = once + each - paid, each + (once - paid) / joined
        share = min((running - 1) / cycle * work, 0.95) if running > 1 else 0.0
        wait = _wait(running, work + chunks * step / joined, steps * tpot)
        joined = (joined + _together(running / cycle * (work * joined + step + wait) / ways, load, chunk_tokens)) / 2
        own = alone + chunks * step + (joined - 1) / 2 * ways * each  # all of a pass end together
        steady = 0.5 * step + wait + own
        burst = own + work * max(running - 1, 0.0) / 2
        new = step / (1 - share), (1 - BURST) * steady + BURST * burst + first_token_s
        settled = abs(new[0] / tpot - 1) + abs(new[1] / ttft - 1) < SETTLED
        tpot, ttft = (tpot + new[0]) / 2, (ttft + new[1]) / 2
        if settled:
            break
    if running < n:  # the rest waits for a slot: N in flight, `running` of them inside
        ttft += (n - running) / running * (ttft + steps * tpot)
    return Prediction(ttft, tpot, batch, share)


def disaggregated(
    prefill: Pool, decode: Pool, load: Load, transfer_s: float = 0.0, first_token_s: float = 0.0
) -> Prediction:
    """Prefill instances feed decode instances; the first token comes after the KV transfer."""
    n = float(load.concurrency)
    once, each = _parts(prefill.timing, load.prompt, prefill.ways)
    alone = prefill.timing.prefill_s(load.prompt, 0.0)  # one prompt does not fill the ways of a pass
    steps = max(load.output - 1, 1)
    per_decode = n / decode.instances
    tpot = decode.timing.decode_s(max(per_decode, 1.0), load.context)
    ttft, batch, share, joined = alone, per_decode, 0.0, 1.0
    for _ in range(ROUNDS):
        rate = n / (ttft + steps * tpot)
        batch = max(rate * steps * tpot / decode.instances, min(per_decode, 1.0))
        fitting = min(batch, decode.slots)
        service = (each + once / joined) / prefill.instances
        share = min(rate * service, 1.0)
        wait = _wait(n, service, steps * tpot * batch / fitting)
        passes = rate / prefill.instances / prefill.ways
        joined = (joined + _together(passes * ((each * joined + once) * prefill.ways + wait), load, CHUNK_TOKENS)) / 2
        own = alone + (joined - 1) / 2 * prefill.ways * each  # all of a pass end together
        steady = wait + own
        burst = own + service * max(n - 1, 0.0) / 2
        slot_wait = (batch / fitting - 1.0) * steps * tpot
        outside = transfer_s + first_token_s + slot_wait
        step = decode.timing.decode_s(max(fitting, 1.0), load.context)
        new = step, (1 - BURST) * steady + BURST * burst + outside
        settled = abs(new[0] / tpot - 1) + abs(new[1] / ttft - 1) < SETTLED
        tpot, ttft = (tpot + new[0]) / 2, (ttft + new[1]) / 2
        if settled:
            break
    return Prediction(ttft, tpot, batch, share)


def _parts(timing: Timing, prompt: int, ways: float) -> tuple[float, float]:
    """A prompt's share of a pass: what a pass costs once, and what each prompt adds (a line through L/2 and L)."""
    whole = timing.prefill_s(prompt, 0.0) / ways
    once = min(max(2 * timing.prefill_s(prompt / 2, 0.0) / ways - whole, 0.0), whole)
    return once, whole - once


def _together(arrivals: float, load: Load, chunk_tokens: int) -> float:
    """Prompts that share a pass: those that wait or arrive during one, as many as a chunk holds."""
    return min(max(arrivals, 1.0), max(chunk_tokens / load.prompt, 1.0))


def _wait(customers: float, service: float, think: float) -> float:
    """Mean wait of a machine-repair queue: ``customers`` that think, then need ``service`` of one server.

    Mean-value analysis; an arrival finds what one customer fewer would leave, half of the service under way done.

    >>> _wait(1, 2.0, 10.0), round(_wait(100, 1.0, 10.0), 1)
    (0.0, 88.4)
    """
    queue = busy = wait = 0.0
    for k in range(1, math.ceil(customers) + 1):  # the hot loop of a fit: no calls in it
        wait = (queue - busy / 2) * service
        if wait < 0.0:
            wait = 0.0
        rate = k / (think + wait + service)
        queue, busy = rate * (wait + service), rate * service
        if busy > 1.0:
            busy = 1.0
    return wait
