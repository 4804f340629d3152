//! The top: the module of a circuit with its parameters fixed, as entry point for tools.

use crate::rtl::circuit::{Circuit, File};
use crate::rtl::escape::comment;

impl Circuit {
    /// Returns the file `top_NAME.sv`.
    pub(crate) fn top_file(&self) -> File {
        let (instance, summary, module) = (comment(&self.instance), comment(&self.summary), self.module);
        let top = self.top();
        let ports: Vec<String> =
            self.ports.iter().map(|port| format!("    {}", port.declaration())).collect();
        let parameter = |(name, value): (&str, String)| format!("      .{name}({value})");
        let parameters = self.parameters.iter().map(|p| parameter((p.name, p.literal())));
        let parameters: Vec<String> = parameters.collect();
        let connections: Vec<String> =
            self.ports.iter().map(|port| format!("      .{0}({0})", port.name)).collect();
        let text = format!(
            "// {instance}: {summary}.\n//\n// Written by `npu rtl`, with all parameters of the instance.\nmodule {top} \
             (\n{}\n);\n\n  {module} #(\n{}\n  ) unit (\n{}\n  );\n\nendmodule\n",
            ports.join(",\n"),
            parameters.join(",\n"),
            connections.join(",\n"),
        );
        File { name: format!("{top}.sv"), text }
    }
}

#[cfg(test)]
mod tests {
    use crate::rtl::circuit::tests::example;

    #[test]
    fn a_top_fixes_parameters_and_has_all_ports() {
        let text = example().top_file().text;
        let wanted = "// unit:small,depth=8: a unit of 8 words.
//
// Written by `npu rtl`, with all parameters of the instance.
module top_small_depth_8 (
    input  logic clk_i,
    input  logic rst_i,
    input  logic in_tvalid,
    output logic in_tready,
    input  logic [15:0] in_tdata,
    input  logic [1:0] in_tkeep,
    input  logic in_tlast
);

  unit #(
      .DEPTH(8),
      .LOSES(1'd1)
  ) unit (
      .clk_i(clk_i),
      .rst_i(rst_i),
      .in_tvalid(in_tvalid),
      .in_tready(in_tready),
      .in_tdata(in_tdata),
      .in_tkeep(in_tkeep),
      .in_tlast(in_tlast)
  );

endmodule
";
        assert_eq!(text, wanted);
    }
}
