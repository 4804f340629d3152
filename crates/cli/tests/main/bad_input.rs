//! Broken files give an error that names the file and status 1, and nothing is written. The tests
//! of `npukit-fuzzing` try random files without a process for each.

use crate::npu::{DIGITS, IMAGES, Npu};

/// Runs the artifact in the folder on the image file there; the error must name `file`.
fn refused(npu: &Npu, file: &str, input: &str) {
    let arguments = ["run", "digits_onnx_pynqz1.tmodel", "--input", input, "--output", "y.npz"];
    let (out, error) = npu.text(1, &arguments);
    assert!(out.is_empty() && error.contains(file), "{file}: {error}");
    assert!(!npu.path("y.npz").exists(), "{file}");
}

#[test]
fn truncated_and_overwritten_files_are_named() {
    let npu = Npu::new();
    npu.json(0, &["compile", DIGITS, "--target", "tcu", "-o", "."]);
    npu.write("x.npy", std::fs::read(IMAGES).unwrap());
    npu.write("x.csv", "1,2,3\n");
    refused(&npu, "x.csv", "x.csv");
    for file in ["digits_onnx_pynqz1.tmodel", "digits_onnx_pynqz1.tprog", "digits_onnx_pynqz1.tdata", "x.npy"]
    {
        let good = std::fs::read(npu.path(file)).unwrap();
        for bad in [&good[..good.len() / 2], &good[..good.len() - 1], &[], &[0xff; 100]] {
            npu.write(file, bad);
            refused(&npu, file, "x.npy");
        }
        npu.write(file, good);
    }
    npu.json(0, &["run", "digits_onnx_pynqz1.tmodel", "--input", "x.npy"]);
}

#[test]
fn broken_models_sources_and_instances_are_named() {
    let npu = Npu::new();
    let model = std::fs::read(DIGITS).unwrap();
    for bad in [&model[..model.len() / 2], &[], &[0xff; 100]] {
        npu.write("m.onnx", bad);
        let (_, error) = npu.text(1, &["compile", "m.onnx", "--target", "tcu", "-o", "out"]);
        assert!(error.contains("m.onnx"), "{error}");
    }
    for (bad, place) in [
        ("{", "line 1"),
        ("[]", "object"),
        ("{}", "data_type"),
        (r#"{"data_type":"FP16BP8","array_size":0}"#, "array_size"),
        ("\u{0}", "line 1"),
    ] {
        npu.write("b.tarch", bad);
        let (_, error) = npu.text(1, &["isa", "tcu:b.tarch"]);
        assert!(error.contains("b.tarch") && error.contains(place), "{bad}: {error}");
    }
    npu.write("p.s", [0xff, 0]);
    let (_, error) = npu.text(1, &["asm", "p.s", "--target", "tcu", "-o", "p.tprog"]);
    assert!(error.contains("p.s: byte 0"), "{error}");
    npu.write("p.tprog", [0u8; 12]);
    let (_, error) = npu.text(1, &["disasm", "p.tprog", "--target", "tcu"]);
    assert!(error.contains("p.tprog"), "{error}");
}

#[test]
fn utf_16_is_named() {
    let npu = Npu::new();
    npu.write("p.s", b"\xff\xfen\0o\0o\0p\0");
    npu.write("q.s", ".include \"p.s\"");
    for verb in ["asm p.s --target tcu -o p", "format p.s --target tcu", "asm p.s --target drra -o p"] {
        let (_, error) = npu.text(1, &verb.split(' ').collect::<Vec<_>>());
        assert!(error.contains("p.s is UTF-16 text") && error.contains("save it as UTF-8"), "{error}");
    }
    let (_, error) = npu.text(1, &["asm", "q.s", "--target", "tcu", "-o", "p"]);
    assert!(error.contains("cannot include `p.s`: it is UTF-16 text"), "{error}");
}
