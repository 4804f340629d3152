//! [`Port`]: a wire or bus of a top, and the ports of common buses.

/// Direction of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Into the circuit.
    Input,
    /// Out of the circuit.
    Output,
}

/// A port of a circuit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Direction of the port.
    pub direction: Direction,
    /// Width in bits; `None` for a single wire that is not a vector.
    pub bits: Option<u64>,
    /// Name of the port.
    pub name: String,
}

impl Port {
    /// Creates a single-wire input.
    pub fn input(name: &str) -> Self {
        Self { direction: Direction::Input, bits: None, name: name.to_owned() }
    }

    /// Creates a single-wire output.
    pub fn output(name: &str) -> Self {
        Self { direction: Direction::Output, bits: None, name: name.to_owned() }
    }

    /// Returns its declaration in the port list of a module.
    pub fn declaration(&self) -> String {
        let direction = match self.direction {
            Direction::Input => "input ",
            Direction::Output => "output",
        };
        let bits = self.bits.map_or_else(String::new, |bits| format!(" [{}:0]", bits.saturating_sub(1)));
        format!("{direction} logic{bits} {}", self.name)
    }
}

/// A bus signal: whether the initiator (master or sender) drives it, its width and its name.
type Signal = (bool, Option<u64>, &'static str);

fn bus<'s>(prefix: &str, is_source: bool, signals: impl IntoIterator<Item = &'s Signal>) -> Vec<Port> {
    let port = |&(by_source, bits, name): &Signal| {
        let direction = if by_source == is_source { Direction::Output } else { Direction::Input };
        Port { direction, bits, name: format!("{prefix}_{name}") }
    };
    signals.into_iter().map(port).collect()
}

/// Returns the master's side of an AXI4 bus with `data_bits` data bits and `address_bits` address
/// bits.
///
/// Source: the AXI4 protocol; signals in the order of its channels, without regions and user bits.
pub fn axi4_master(prefix: &str, data_bits: u64, address_bits: u64, id_bits: u64) -> Vec<Port> {
    let address =
        |[id, address, length, size, burst, lock, cache, protection, quality, valid, ready]: [_; 11]| {
            [
                (true, Some(id_bits), id),
                (true, Some(address_bits), address),
                (true, Some(8), length),
                (true, Some(3), size),
                (true, Some(2), burst),
                (true, None, lock),
                (true, Some(4), cache),
                (true, Some(3), protection),
                (true, Some(4), quality),
                (true, None, valid),
                (false, None, ready),
            ]
        };
    let write = address([
        "awid", "awaddr", "awlen", "awsize", "awburst", "awlock", "awcache", "awprot", "awqos", "awvalid",
        "awready",
    ]);
    let written = [
        (true, Some(data_bits), "wdata"),
        (true, Some(data_bits / 8), "wstrb"),
        (true, None, "wlast"),
        (true, None, "wvalid"),
        (false, None, "wready"),
        (false, Some(id_bits), "bid"),
        (false, Some(2), "bresp"),
        (false, None, "bvalid"),
        (true, None, "bready"),
    ];
    let read = address([
        "arid", "araddr", "arlen", "arsize", "arburst", "arlock", "arcache", "arprot", "arqos", "arvalid",
        "arready",
    ]);
    let returned = [
        (false, Some(id_bits), "rid"),
        (false, Some(data_bits), "rdata"),
        (false, Some(2), "rresp"),
        (false, None, "rlast"),
        (false, None, "rvalid"),
        (true, None, "rready"),
    ];
    bus(prefix, true, write.iter().chain(&written).chain(&read).chain(&returned))
}

/// Returns the sender's or the receiver's end of an AXI stream of `data_bits`.
pub fn stream(prefix: &str, is_sender: bool, data_bits: u64) -> Vec<Port> {
    let signals = [
        (true, None, "tvalid"),
        (false, None, "tready"),
        (true, Some(data_bits), "tdata"),
        (true, Some(data_bits / 8), "tkeep"),
        (true, None, "tlast"),
    ];
    bus(prefix, is_sender, &signals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_receives_is_driven_by_the_sender() {
        let declared = |ports: Vec<Port>| ports.iter().map(Port::declaration).collect::<Vec<_>>();
        let received = declared(stream("instruction", false, 64));
        assert_eq!(received[0], "input  logic instruction_tvalid");
        assert_eq!(received[1], "output logic instruction_tready");
        assert_eq!(received[3], "input  logic [7:0] instruction_tkeep");
        let sent = declared(stream("sample", true, 64));
        assert_eq!(sent[2], "output logic [63:0] sample_tdata");
    }

    #[test]
    fn a_master_has_five_channels() {
        let ports = axi4_master("m", 128, 32, 6);
        assert_eq!(ports.len(), 11 + 5 + 4 + 11 + 6);
        let inputs: Vec<&str> = ports
            .iter()
            .filter(|port| port.direction == Direction::Input)
            .map(|port| &port.name[..])
            .collect();
        let wanted = [
            "m_awready",
            "m_wready",
            "m_bid",
            "m_bresp",
            "m_bvalid",
            "m_arready",
            "m_rid",
            "m_rdata",
            "m_rresp",
            "m_rlast",
            "m_rvalid",
        ];
        assert_eq!(inputs, wanted);
    }
}
