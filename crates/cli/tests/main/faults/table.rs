//! Rows of the fault suite: every verb that writes, with every file that it can write.
//!
//! Each verb has a row. The unit test in `src/main.rs` finds the outputs of all verbs on the
//! command line, and fails if one of them is not in a row.

/// Verb that writes into the folder `out`. Words of commands are separated by spaces.
pub struct Row {
    /// Number of files that it writes.
    pub files: usize,
    /// Step between the operations on files that are tried.
    pub step: usize,
    /// Start of the command that makes the old files.
    pub old: &'static str,
    /// Start of the command that replaces them.
    pub new: &'static str,
    /// End of both commands.
    pub both: &'static str,
    /// Command that reads the files, and succeeds for both sets.
    pub reads: &'static str,
}

impl Row {
    /// Whether it writes files that belong together.
    pub fn is_artifact(&self) -> bool {
        self.files > 1 && self.reads.contains("out/")
    }

    /// Returns the command that makes the old files.
    pub fn makes(&self) -> Vec<&'static str> {
        self.old.split(' ').chain(self.both.split(' ')).collect()
    }

    /// Returns the command that replaces them.
    pub fn replaces(&self) -> Vec<&'static str> {
        self.new.split(' ').chain(self.both.split(' ')).collect()
    }
}

#[rustfmt::skip] // A table.
pub const ROWS: [Row; 27] = [
    Row { files: 1, step: 1, old: "host pccx commands a.host", new: "host pccx commands b.host", both: "-o out/c.bin",
          reads: "host pccx commands out/c.bin" },
    Row { files: 1, step: 1, old: "asm a.s", new: "asm b.s", both: "--target tcu -o out/p.tprog --no-map",
          reads: "disasm out/p.tprog --target tcu" },
    Row { files: 3, step: 2, old: "asm a.s", new: "asm b.s",
          both: "--target tcu -o out/p.tprog --listing out/p.lst --map out/p.map", reads: "targets" },
    Row { files: 1, step: 1, old: "disasm a.tprog", new: "disasm b.tprog", both: "--target tcu -o out/p.s",
          reads: "lint out/p.s --target tcu" },
    Row { files: 1, step: 1, old: "format a.asm", new: "format b.asm", both: "--target drra -o out/f.asm",
          reads: "format out/f.asm --target drra --check" },
    Row { files: 1, step: 1, old: "targets tcu:pynqz1", new: "targets tcu:cmoda7", both: "--svg out/m.svg",
          reads: "targets" },
    Row { files: 1, step: 1, old: "zoo mlp", new: "zoo mlp --seed 1", both: "-o out/m.onnx",
          reads: "check out/m.onnx --target tcu" },
    Row { files: 1, step: 1, old: "eval d.onnx --input x.npy", new: "eval d.onnx --input y.npy", both: "-o out/e.npz",
          reads: "targets" },
    Row { files: 1, step: 1, old: "trace d.onnx --input x.npy", new: "trace d.onnx --input x.npy --target tcu",
          both: "-o out/t.npz", reads: "diff out/t.npz out/t.npz" },
    Row { files: 4, step: 1, old: "compile d.onnx", new: "compile d.onnx --rescale never --strategy local-vars",
          both: "--target tcu -o out", reads: "run out/d_onnx_pynqz1.tmodel --input x.npy" },
    Row { files: 5, step: 3, old: "compile d.onnx", new: "compile d.onnx --rescale never --strategy local-vars",
          both: "--verify --target tcu -o out", reads: "verify d.onnx --artifact out/d_onnx_pynqz1.tmodel --certificate out/d_onnx_pynqz1.certificate.json" },
    Row { files: 1, step: 1, old: "verify d.onnx", new: "verify d.onnx --seed 7", both: "--target tcu -o out/c.json",
          reads: "targets" },
    Row { files: 10, step: 5, old: "compile d.onnx --test-vectors x.npy", new: "compile d.onnx --test-vectors y.npy",
          both: "--target tcu -o out", reads: "targets" },
    Row { files: 3, step: 2, old: "compile m.onnx", new: "compile m.onnx --quantize percentile=90",
          both: "--target opu -o out", reads: "lint out/m_onnx_reference.opu.toml" },
    Row { files: 15, step: 6, old: "compile m.onnx", new: "compile n/m.onnx",
          both: "--target drra -o out", reads: "time out/m_onnx_3x1.plan.json" },
    Row { files: 4, step: 2, old: "generate 1+1=", new: "generate 1+1= --option kv=host",
          both: "--tokens 1 --target pccx -o out",
          reads: "time out/adder_step_reference.pcp" },
    Row { files: 1, step: 1, old: "generate 1+1=", new: "generate 1+2=", both: "--tokens 1 --logits out/l.npy",
          reads: "targets" },
    Row { files: 1, step: 1, old: "embed cat", new: "embed cat dog", both: "--model bert -o out/v.npy", reads: "targets" },
    Row { files: 3, step: 4, old: "time d.onnx", new: "time d.onnx --latency 99",
          both: "--target tcu --trace out/t.json --by-instruction out/i.csv --samples out/s.bin", reads: "targets" },
    Row { files: 2, step: 2, old: "time a.drra", new: "time b.drra",
          both: "--cycles out/c.txt --trace out/t.json", reads: "targets" },
    Row { files: 5, step: 4, old: "run d.onnx", new: "run d.onnx --raw",
          both: "--target tcu --input x.npy -o out/y.npz --dump out/d.npz --waves out/w.fst", reads: "targets" },
    Row { files: 2, step: 4, old: "run d.onnx", new: "run d.onnx --compare",
          both: "--target tcu --input x.npy --output out/y.npz --dump out/d.npz", reads: "targets" },
    Row { files: 4, step: 3, old: "report d.onnx", new: "report d.onnx --input x.npy",
          both: "--target tcu -o out/r.html --svg out", reads: "targets" },
    Row { files: 8, step: 4, old: "explore d.onnx --space a.toml", new: "explore d.onnx --space b.toml",
          both: "-o out/p.csv --svg out/p.svg --html out/p.html --best latency --write out", reads: "targets" },
    Row { files: 56, step: 12, old: "rtl tcu:cmoda7", new: "rtl tcu:cmoda7 --released", both: "-o out",
          reads: "targets" },
    Row { files: 2, step: 1, old: "bug-report d.onnx", new: "bug-report d.onnx --with-names", both: "--target tcu -o out",
          reads: "targets" },
    Row { files: 32, step: 9, old: "man", new: "man --date 2026-01-31", both: "-o out", reads: "targets" },
];
