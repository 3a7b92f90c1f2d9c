"""A scenario as numbers in SI units: what every later equation reads.

This is the edge at which file units (GB, ms) become bytes and seconds. It also holds, per engine configuration, the
service times that MODEL.md sections 8 to 10 are built from, so that each is computed in one place.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from planner.physics import kv, latency, memory, queueing
from planner.physics.corrected import longest_tokens
from planner.physics.correction import first_token_s
from planner.physics.inputs import GB, ClassLoad, Tier, classes_and_laws, normal_quantile, tier_of
from planner.physics.reuse import Law
from planner.physics.timing import EngineConfig, engine_configs

if TYPE_CHECKING:
    from planner.scenario import Scenario

__all__ = ["ClassLoad", "Service", "System", "Tier"]


@dataclass(frozen=True)
class Service:
    """Prefill times of one configuration (seconds, one tuple entry per class) and how variable they are.

    ``miss`` and ``hit`` occupy a server; ``pure_*`` leave out the decode steps mixed into chunks (the same when
    disaggregated). ``fetch[t][k]`` is the read from tier ``t``; ``variability`` is ``(ca^2 + cs^2) / 2``.
    """

    miss: tuple[float, ...]
    hit: tuple[float, ...]
    pure_miss: tuple[float, ...]
    pure_hit: tuple[float, ...]
    transfer: tuple[float, ...]
    fetch: tuple[tuple[float, ...], ...]
    variability: float
    step_s: float = 0.0  # largest decode step over classes; 0 when disaggregated

    def path_s(self, k: int, tier: int | None, hit: bool) -> float:
        """Seconds from dispatch to first token for class ``k``: fetch + prefill + transfer, without queueing."""
        fetch = 0.0 if tier is None else self.fetch[tier][k]
        return fetch + (self.hit[k] if hit else self.miss[k]) + self.transfer[k]

    def longest_path_s(self, sync: tuple[int, ...]) -> float:
        """The longest path in use when the tiers ``sync`` are synchronous: misses and HBM hits always are."""
        classes = range(len(self.miss))
        return max(
            max(self.path_s(k, None, False), self.path_s(k, None, True), *(self.path_s(k, t, True) for t in sync))
            for k in classes
        )


class System:
    """The numbers of one scenario. Immutable by convention; derived values are cached."""

    def __init__(self, scenario: Scenario, like: System | None = None) -> None:
        """Convert ``scenario`` to SI units; ``like`` lends its configurations where model and engine are the same."""
        self.scenario = scenario
        work, slo, deploy = scenario.workload, scenario.slo, scenario.deployment
        self.rate = float(work.requests_per_second)
        self.kv_per_token = kv.bytes_per_token(scenario.model, scenario.engine.kv_dtype)
        self.ttft_s, self.tpot_s, self.percentile = slo.ttft_ms / 1e3, slo.tpot_ms / 1e3, slo.percentile
        self.z = normal_quantile(slo.percentile)
        self.max_utilization = scenario.engine.max_utilization
        self.gpus_per_node = deploy.gpus_per_node
        self.whole_nodes = deploy.billing == "node"
        self.inclusive = deploy.hierarchy == "inclusive"
        self.affinity = deploy.colocated_routing == "affinity"
        self.load_imbalance = deploy.load_imbalance if self.affinity else 1.0
        self.gpu_usd_per_hour = float(scenario.prices.gpu_usd_per_hour)
        self.read_utilization = scenario.read_utilization
        self.coverage, self.precision = work.prefetch.coverage, work.prefetch.precision
        self.lead_s = work.prefetch.lead_s
        self.classes, self.laws = classes_and_laws(scenario, self.kv_per_token)
        self.tiers = tuple(tier_of(spec) for spec in scenario.tiers)
        self._services: dict[tuple[str, int], Service] = {}
        if (
            like is not None
            and all(getattr(scenario, part) is getattr(like.scenario, part) for part in ("model", "hardware", "engine"))
            and slo.confidence == like.scenario.slo.confidence
            and longest_tokens(scenario) == longest_tokens(like.scenario)  # how far from the measured: notes, error
        ):
            self.__dict__["configs"] = like.configs
            if self._same_service(like):
                self._services = like._services

    def _same_service(self, like: System) -> bool:
        """Whether service times are those of ``like``: they depend on tokens, tiers and transfer, not on load."""
        mine = [(k.share, k.prompt, k.reusable, k.output, k.cv) for k in self.classes]
        return (
            mine == [(k.share, k.prompt, k.reusable, k.output, k.cv) for k in like.classes]
            and self.scenario.deployment is like.scenario.deployment
            and self.scenario.tiers is like.scenario.tiers
            and self.scenario.workload.arrival_cv == like.scenario.workload.arrival_cv
        )

    @cached_property
    def configs(self) -> tuple[EngineConfig, ...]:
        """Engine configurations that the scenario allows."""
        return engine_configs(self.scenario)

    @cached_property
    def config_by_name(self) -> dict[str, EngineConfig]:
        """Configurations by their printed name."""
        return {c.name: c for c in self.configs}

    @cached_property
    def partitions(self) -> tuple[tuple[int, ...], ...]:
        """Class indices per cache partition."""
        return tuple(tuple(i for i, k in enumerate(self.classes) if k.partition == j) for j in range(len(self.laws)))

    @cached_property
    def reuse_bytes_per_s(self) -> tuple[float, ...]:
        """Per partition: ``sum lambda_k P_k kappa``, the KV that hits would read if all hit."""
        per_token = self.kv_per_token
        return tuple(
            sum(self.classes[i].rate * self.classes[i].reusable * per_token for i in p) for p in self.partitions
        )

    @cached_property
    def prompt_bytes_per_s(self) -> float:
        """``sum lambda_k L_k kappa``: KV of all prompts, what a transfer moves and what misses write."""
        return sum(k.rate * k.prompt for k in self.classes) * self.kv_per_token

    @cached_property
    def tokens_per_s(self) -> float:
        """Tokens that the price per million counts: prompt and generated, unless the scenario says otherwise."""
        counts_prompt = self.scenario.prices.tokens_counted != "generated"
        return sum(k.rate * (k.output + (k.prompt if counts_prompt else 0)) for k in self.classes)

    @cached_property
    def running_tokens(self) -> tuple[float, float]:
        """Mean and standard deviation of a running sequence's full length (MODEL.md section 4)."""
        tokens = [k.prompt + k.output for k in self.classes]
        return memory.length_moments(tokens, [k.rate * k.output for k in self.classes])

    def replication(self, config: EngineConfig) -> float:
        """``r_c``: copies of a token's KV that one instance's HBM holds."""
        return kv.replication(self.scenario.model, config.tp)

    def sequence_state(self, config: EngineConfig) -> float:
        """HBM bytes per sequence that do not grow with its length, over all ranks."""
        return kv.sequence_state_bytes(self.scenario.model, config.tp, self.scenario.engine.kv_dtype)

    def kv_memory(self, config: EngineConfig) -> float:
        """KV bytes of one instance's HBM."""
        spec, engine = self.scenario.hardware, self.scenario.engine
        return memory.hbm_kv_bytes(
            config.gpus, spec.hbm_gb * GB, engine.hbm_utilization, config.reserve_bytes, config.weight_bytes
        )

    def prefill_memory(self, config: EngineConfig) -> float:
        """Working space of one prefill pass in bytes."""
        longest = max(k.prompt for k in self.classes)
        per_token = self.replication(config) * self.kv_per_token
        return memory.prefill_kv_bytes(config.ways, longest, per_token, self.sequence_state(config))

    def decode_memory(self, config: EngineConfig, batch: int) -> float:
        """KV bytes that ``batch`` running sequences need on one instance."""
        mean, sd = self.running_tokens
        per_token = self.replication(config) * self.kv_per_token
        return memory.decode_kv_bytes(batch, mean, sd, self.z, per_token, self.sequence_state(config))

    def steps_s(self, config: EngineConfig, batch: int) -> tuple[float, ...]:
        """Decode step per class at its mean context."""
        return tuple(config.timing.decode_s(batch, k.decode_context) for k in self.classes)

    def concurrency(self, steps: tuple[float, ...]) -> float:
        """Mean sequences in flight: ``m = sum lambda_k O_k step_k`` (Little's law)."""
        return sum(k.rate * k.output * s for k, s in zip(self.classes, steps, strict=True))

    def service(self, config: EngineConfig, batch: int | None) -> Service:
        """Prefill service of ``config``; with ``batch`` the chunked one of an instance that also decodes."""
        key = (config.name, batch or 0)
        found = self._services.get(key)
        if found is None:
            found = self._services[key] = self._service(config, batch)
        return found

    def _service(self, config: EngineConfig, batch: int | None) -> Service:
        pure_miss = tuple(config.timing.prefill_s(k.prompt, 0) for k in self.classes)
        pure_hit = tuple(config.timing.prefill_s(k.prompt - k.reusable, k.reusable) for k in self.classes)
        miss, hit, step = pure_miss, pure_hit, 0.0
        if batch is not None:
            chunk = self.scenario.engine.chunk_tokens
            step = max(self.steps_s(config, batch))
            pairs = zip(self.classes, pure_miss, pure_hit, strict=True)
            both = [
                (
                    latency.chunked_prefill_s(m, k.prompt, chunk, step),
                    latency.chunked_prefill_s(h, k.prompt - k.reusable, chunk, step),
                )
                for k, m, h in pairs
            ]
            miss, hit = tuple(m for m, _ in both), tuple(h for _, h in both)
        cs2 = queueing.service_cv2([k.share for k in self.classes], miss, hit, [k.cv for k in self.classes])
        ca = self.scenario.workload.arrival_cv
        return Service(
            miss,
            hit,
            pure_miss,
            pure_hit,
            self._transfer(config, batch),
            self._fetch(config),
            (ca * ca + cs2) / 2,
            step,
        )

    def _transfer(self, config: EngineConfig, batch: int | None) -> tuple[float, ...]:
        """From the end of prefill to the first token: KV transfer, and the engine's latency outside the GPU."""
        outside = tuple(first_token_s(config.timing, k.prompt, batch is None) for k in self.classes)
        if batch is not None:
            return outside
        spec = self.scenario.deployment.transfer
        return tuple(
            first
            + latency.transfer_s(
                k.prompt * self.kv_per_token,
                spec.latency_ms / 1e3,
                spec.overlap,
                config.gpus,
                spec.gb_per_s_per_gpu * GB,
            )
            for k, first in zip(self.classes, outside, strict=True)
        )

    def _fetch(self, config: EngineConfig) -> tuple[tuple[float, ...], ...]:
        return tuple(
            tuple(
                latency.fetch_s(
                    k.reusable * self.kv_per_token,
                    t.latency_s,
                    config.gpus,
                    self.gpus_per_node,
                    t.read_per_gpu,
                    t.read_per_node,
                )
                for k in self.classes
            )
            for t in self.tiers
        )

    def load(self, miss: tuple[float, ...], hit: tuple[float, ...], hits: tuple[float, ...]) -> float:
        """Offered load ``a = sum_k lambda_k (miss_k - e_k (miss_k - hit_k))`` at effective hits per partition."""
        return sum(k.rate * (m - hits[k.partition] * (m - h)) for k, m, h in zip(self.classes, miss, hit, strict=True))

    def partition_law(self, partition: int, architecture: str, instances: float) -> Law:
        """The law of a partition; split over instances where colocated routing is random."""
        law = self.laws[partition]
        if architecture == "colocated" and not self.affinity:
            return law.split(instances)
        return law
