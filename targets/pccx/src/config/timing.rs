//! [`Timing`]: parameters of the cycle model (specification 6.4), and the resulting rates.

use serde::{Deserialize, Serialize};

use super::ConfigError;

/// Parameters of the cycle model. Cycles are core cycles unless the name specifies otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Clock of the engines, in MHz.
    pub core_mhz: f64,
    /// Clock of the ports to host memory, in MHz.
    pub axi_mhz: f64,
    /// Cycles from the issue of an instruction to the next.
    pub issue: u64,
    /// AXI cycles in which the host pushes a word.
    pub host_push: u64,
    /// Latency of a read of L2.
    pub l2_latency: u64,
    /// Cycles before the first word of a transfer.
    pub load_descriptor: u64,
    /// Bytes per AXI cycle of a high-performance port.
    pub hp_bytes: u64,
    /// Bytes per AXI cycle of the coherent port.
    pub acp_bytes: u64,
    /// Bandwidth of external memory in GB/s, shared by all ports.
    pub ddr_gb_per_s: f64,
    /// Bytes of weights that a port can hold ahead of their instruction.
    pub weight_fifo_bytes: u64,
    /// Activations per cycle of preprocessing.
    pub preprocess_elements: u64,
    /// Latency of preprocessing, in core cycles.
    pub preprocess_latency: u64,
    /// Cycles of a sweep over the activation cache, independent of K; 0 for an instance without
    /// sweeps.
    pub fmap_sweep: u64,
    /// Core cycles of a MEMSET.
    pub memset: u64,
    /// Bytes of a weight row's scale that stream with the weights; 0 in the published formulas,
    /// which do not count them.
    #[serde(default)]
    pub scale_bytes: u64,
    /// Cycles in which a product with `accm` reads a word of earlier sums from L2; 0 in the
    /// published formulas.
    #[serde(default)]
    pub accm_word: u64,
    /// Parameters of the vector core, which executes GEMV.
    pub gemv: GemvTiming,
    /// Parameters of the matrix core, which executes GEMM.
    pub gemm: GemmTiming,
    /// Parameters of the special-function unit, which executes CVO.
    pub cvo: CvoTiming,
}

/// Parameters of the vector core.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GemvTiming {
    /// Number of lanes that work in parallel.
    pub lanes: u64,
    /// Products per lane and cycle.
    pub lane_width: u64,
    /// High-performance ports that deliver its weights.
    pub ports: u64,
    /// Cycles of the adder tree and of post-processing.
    pub tail: u64,
}

/// Parameters of the matrix core.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GemmTiming {
    /// Elements of K in a tile.
    pub rows: u64,
    /// Number of outputs in a tile.
    pub columns: u64,
    /// High-performance ports that deliver its weights.
    pub ports: u64,
    /// Cycles in which a tile fills and empties the array.
    pub fill: u64,
    /// Maximum number of products that the accumulators sum up.
    pub drain_limit: u64,
    /// Cycles to drain the accumulators.
    pub drain: u64,
}

/// Parameters of the special-function unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CvoTiming {
    /// Cycles of the input and sub_emax stages.
    pub input: u64,
    /// Core cycles of latency, indexed by function code.
    pub latency: [u64; 11],
    /// Cycles of REDUCE_SUM per element.
    pub reduce_element: u64,
}

/// Maximum of any parameter, so that products of a few of them fit 64 bits.
const LARGEST: u64 = 1 << 20;

impl Timing {
    /// Returns the bytes per core cycle of `ports` high-performance ports, limited by external
    /// memory.
    pub fn weight_bytes_per_cycle(&self, ports: u64) -> f64 {
        self.per_core_cycle(self.hp_bytes * ports).min(self.ddr_bytes_per_cycle())
    }

    /// Returns the bytes per core cycle of the coherent port, limited by external memory.
    pub fn acp_bytes_per_cycle(&self) -> f64 {
        self.per_core_cycle(self.acp_bytes).min(self.ddr_bytes_per_cycle())
    }

    /// Returns the bytes per core cycle of external memory.
    pub fn ddr_bytes_per_cycle(&self) -> f64 {
        self.ddr_gb_per_s * 1e3 / self.core_mhz
    }

    /// Returns the core cycles in which the host pushes a word.
    pub fn push_cycles(&self) -> f64 {
        self.host_push as f64 * self.core_mhz / self.axi_mhz
    }

    /// Converts core cycles to milliseconds.
    pub fn milliseconds(&self, cycles: u64) -> f64 {
        cycles as f64 / (self.core_mhz * 1e3)
    }

    fn per_core_cycle(&self, axi_bytes: u64) -> f64 {
        axi_bytes as f64 * self.axi_mhz / self.core_mhz
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        positive("timing.core_mhz", self.core_mhz)?;
        positive("timing.axi_mhz", self.axi_mhz)?;
        positive("timing.ddr_gb_per_s", self.ddr_gb_per_s)?;
        let Self { gemv, gemm, cvo, .. } = self;
        for (key, value) in [
            ("timing.issue", self.issue),
            ("timing.hp_bytes", self.hp_bytes),
            ("timing.acp_bytes", self.acp_bytes),
            ("timing.preprocess_elements", self.preprocess_elements),
            ("timing.gemv.lanes", gemv.lanes),
            ("timing.gemv.lane_width", gemv.lane_width),
            ("timing.gemv.ports", gemv.ports),
            ("timing.gemm.rows", gemm.rows),
            ("timing.gemm.columns", gemm.columns),
            ("timing.gemm.ports", gemm.ports),
            ("timing.gemm.drain_limit", gemm.drain_limit),
        ] {
            in_range(key, value, 1)?;
        }
        for (key, value) in [
            ("timing.host_push", self.host_push),
            ("timing.l2_latency", self.l2_latency),
            ("timing.load_descriptor", self.load_descriptor),
            ("timing.weight_fifo_bytes", self.weight_fifo_bytes),
            ("timing.preprocess_latency", self.preprocess_latency),
            ("timing.fmap_sweep", self.fmap_sweep),
            ("timing.memset", self.memset),
            ("timing.scale_bytes", self.scale_bytes),
            ("timing.accm_word", self.accm_word),
            ("timing.gemv.tail", gemv.tail),
            ("timing.gemm.fill", gemm.fill),
            ("timing.gemm.drain", gemm.drain),
            ("timing.cvo.input", cvo.input),
            ("timing.cvo.reduce_element", cvo.reduce_element),
        ] {
            in_range(key, value, 0)?;
        }
        cvo.latency.iter().try_for_each(|&value| in_range("timing.cvo.latency", value, 0))
    }
}

fn positive(key: &'static str, value: f64) -> Result<(), ConfigError> {
    if value > 0.0 && value <= 1e6 {
        return Ok(());
    }
    Err(ConfigError::Range {
        key,
        value: value.to_string(),
        legal: "numbers above 0, up to 1000000".to_owned(),
    })
}

fn in_range(key: &'static str, value: u64, least: u64) -> Result<(), ConfigError> {
    if (least..=LARGEST).contains(&value) {
        return Ok(());
    }
    Err(ConfigError::Range { key, value: value.to_string(), legal: format!("{least} to {LARGEST}") })
}
