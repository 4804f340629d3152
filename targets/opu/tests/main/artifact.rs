//! Artifacts: programs survive a round trip, run, and invalid files are reported with their place.

use std::collections::BTreeMap;

use npukit_graph::op::Softmax;
use npukit_numeric::Tensor;
use npukit_opu::internals::artifact::{ArtifactError, read, write};
use npukit_opu::internals::layout::{Border, Group, Planes};
use npukit_opu::internals::program::{Binding, HostOp, HostStep, Layer, Patches, Segment};
use npukit_opu::{Addend, Board, Config, OPU, Op, Pool, Post, Program, Shape};
use npukit_target::{ArtifactFile, ReadError, UninitMemory, resealed};
use proptest::prelude::*;

/// Returns the files of [`program`] with a change in one of them, and hashes that match the changed
/// files.
fn changed(file: usize, change: impl FnOnce(&mut Vec<u8>)) -> Vec<ArtifactFile> {
    let mut files = write(&program()).unwrap();
    let before = files[file].bytes.clone();
    change(&mut files[file].bytes);
    // A manifest that is no longer text has no hashes to update.
    if let Ok(text) = std::str::from_utf8(&files[0].bytes) {
        files[0].bytes = resealed(text, &[(&before, &files[file].bytes)]).into_bytes();
    }
    files
}

/// Returns a program that doubles 16 channels of 2 x 3 pixels: `y = clamp(2 * x)`, in eighths.
pub fn program() -> Program {
    let identity = (0..256u32).map(|i| u8::from(i / 16 == i % 16) * 2).collect();
    let instructions = vec![
        Op::ShapeIfm(Shape { h: 2, w: 3, c: 16 }),
        Op::ShapeOfm(Shape { h: 2, w: 3, c: 16 }),
        Op::ShapeKer { n: 1 },
        Op::MemIfm { bank: 0, w: 3 },
        Op::MemKer { bank: 1 },
        Op::MemOfm { bank: 2, h: 4, w: 5 },
        Op::Stride { h: 1, w: 1 },
        Op::Shift { ifm: 8, bias: 0 },
        Op::Post(Post::default()),
        Op::Pool(Pool::NONE),
        Op::LoadIfm { addr: 0 },
        Op::LoadKer { addr: 0 },
        Op::Conv { addend: Addend::Zero, h: 0, w: 0, n: 0 },
        Op::Store { addr: 6 },
        Op::End,
    ];
    let binding = |name: &str, border, address| Binding {
        name: name.to_owned(),
        shape: vec![1, 16, 2, 3],
        perm: vec![0, 2, 3, 1],
        fraction: 3,
        patches: None,
        planes: Planes::contiguous([2, 3, 16], border, address, 1).unwrap(),
    };
    Program {
        name: "double".to_owned(),
        instance: "reference".to_owned(),
        config: Config::preset("reference").unwrap(),
        address: Program::ADDRESS,
        instructions,
        segments: vec![Segment { address: 1 << 28, bytes: identity }],
        inputs: vec![binding("x", Border::default(), 0)],
        outputs: vec![binding("y", Border::all(1), 2 << 28)],
        host_steps: vec![HostStep {
            node: "softmax".to_owned(),
            output: "y".to_owned(),
            reason: "the machine has no exponential".to_owned(),
            op: HostOp::Softmax(Softmax { axis: 1, axis_end: 2 }),
        }],
        layers: vec![Layer {
            name: "double".to_owned(),
            first: 0,
            count: 15,
            macs: 1536,
            results: vec!["y".to_owned()],
        }],
        fractions: ["x", "y"].map(|name| (name.to_owned(), 3)).into(),
        choices: BTreeMap::from([("tile".to_owned(), "2x3".to_owned())]),
        warnings: vec!["made by hand".to_owned()],
        reading: [("resize_half_pixel".to_owned(), true.into())].into_iter().collect(),
    }
}

/// Returns a resolver for the files of an artifact.
pub fn resolve(files: &[ArtifactFile]) -> impl Fn(&str) -> Result<Vec<u8>, ReadError> + Sync {
    let files = files.to_vec();
    move |name| match files.iter().find(|file| file.name == name) {
        Some(file) => Ok(file.bytes.clone()),
        None => Err(ReadError::Absent { path: name.to_owned() }),
    }
}

fn read_back(files: &[ArtifactFile]) -> Result<Program, ArtifactError> {
    read(&files[0].name, &files[0].bytes, &mut |name| resolve(files)(name))
}

#[test]
fn a_program_comes_back_and_runs() {
    let program = program();
    let files = write(&program).unwrap();
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["double.opu.toml", "double.words", "double.image"]);
    assert_eq!(read_back(&files).unwrap(), program);

    let compiled = OPU.load("double.opu.toml", &resolve(&files)).unwrap();
    let values: Vec<f32> = (0..96).map(|i| i as f32 / 8.0 - 4.0).collect();
    let x = Tensor::from_f32(vec![1, 16, 2, 3], values.clone()).unwrap();
    let result = compiled.run(&[("x".to_owned(), x)]).unwrap();
    let expected: Vec<i32> = (0..96).map(|i| (2 * (i - 32)).min(127)).collect();
    assert_eq!(result.outputs[0].raw, expected);
    // No sum saturates: 2 * (i - 32) * 256 exceeds 32767 from i = 96, which does not occur.
    assert_eq!((result.saturations.inputs, result.saturations.results), (0, 0));
    let sums: f32 = result.outputs[0].values.as_f32().unwrap().iter().sum();
    assert!((sums - 6.0).abs() < 1e-5, "a softmax over channels of 6 pixels: {sums}");
    assert_eq!(compiled.report().macs, Some(1536));
    assert_eq!(compiled.files().unwrap(), files);
}

/// The example of the README is this program, except for its host step and its model's reading.
#[test]
fn the_example_is_up_to_date() {
    let mut example = program();
    example.host_steps.clear();
    example.reading.clear();
    let folder = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/examples"));
    let files = write(&example).unwrap();
    if std::env::var_os("NPUKIT_BLESS").is_some_and(|value| value == "1") {
        files.iter().for_each(|file| std::fs::write(folder.join(&file.name), &file.bytes).unwrap());
    }
    for file in &files {
        assert_eq!(std::fs::read(folder.join(&file.name)).unwrap(), file.bytes, "{}", file.name);
    }
    let text = std::fs::read_to_string(folder.join("double.s")).unwrap();
    let words = npukit_asm::assemble(&npukit_opu::isa(npukit_opu::Validity::Corrected), "double.s", &text)
        .unwrap()
        .bytes;
    assert_eq!(words, files[1].bytes);
}

#[test]
fn what_does_not_fit_is_counted_by_layer() {
    let compiled = OPU.load("double.opu.toml", &resolve(&write(&program()).unwrap())).unwrap();
    let x =
        Tensor::from_f32(vec![1, 16, 2, 3], [vec![15.0; 6], vec![99.0; 2], vec![0.5; 88]].concat()).unwrap();
    let saturations = compiled.run(&[("x".to_owned(), x)]).unwrap().saturations;
    assert_eq!((saturations.inputs, saturations.results), (2, 8));
    assert_eq!(saturations.layers[0].layer, "double");
}

#[test]
fn patches_become_channels() {
    let binding = Binding {
        name: "image".to_owned(),
        shape: vec![1, 3, 4, 4],
        perm: vec![0, 2, 3, 1],
        fraction: 0,
        patches: Some(Patches { kernel: [3, 3], stride: [2, 2], padding: [1, 1] }),
        planes: Planes::contiguous([2, 2, 27], Border::default(), 0, 1).unwrap(),
    };
    let itype = Config::preset("reference").unwrap().types.itype;
    binding.check(itype, true).unwrap();
    assert!(binding.check(itype, false).is_err());
    let values: Vec<f32> = (0..48).map(|i| i as f32 + 1.0).collect();
    let map = binding.pack(itype, &values).raw;
    let at = |y: usize, x: usize, r: usize, s: usize, c: usize| map[((y * 2 + x) * 9 + r * 3 + s) * 3 + c];
    assert_eq!([at(0, 0, 0, 0, 0), at(0, 0, 1, 1, 0), at(0, 0, 1, 1, 2)], [0, 1, 33]);
    // Pixel (1, 1) with tap (2, 0) reads row 3, column 1.
    assert_eq!(at(1, 1, 2, 0, 1), 16 + 13 + 1);
    assert_eq!(map.len(), 2 * 2 * 27);
}

#[test]
fn pixels_follow_each_other_row_by_row() {
    let binding = |shape: &[usize], planes| Binding {
        name: "rows".to_owned(),
        shape: shape.to_vec(),
        perm: (0..shape.len()).collect(),
        fraction: 0,
        patches: None,
        planes: Planes::contiguous(planes, Border::default(), 0, 1).unwrap(),
    };
    let itype = Config::preset("reference").unwrap().types.itype;
    let values: Vec<f32> = (0..3 * 7 * 4).map(|i| i as f32).collect();
    for (shape, planes) in [(&[3, 7, 4][..], [1, 21, 4]), (&[3, 7, 4], [3, 7, 4]), (&[21, 4], [7, 3, 4])] {
        let binding = binding(shape, planes);
        binding.check(itype, false).unwrap();
        let map = binding.pack(itype, &values).raw;
        assert_eq!(map, (0..84).collect::<Vec<i32>>());
        assert_eq!(binding.unpack(&map), map);
    }
    for (shape, planes) in [(&[3, 7, 4][..], [1, 20, 4]), (&[3, 7, 4], [1, 28, 3]), (&[3, 7, 4], [1, 42, 2])]
    {
        let error = binding(shape, planes).check(itype, false).unwrap_err().to_string();
        assert!(error.contains("is a map of [3, 7, 4], but the planes are a map of"), "{error}");
    }
}

#[test]
fn every_fault_of_a_program_has_its_place() {
    type Change<'a> = &'a dyn Fn(&mut Program);
    let refused = |change: Change<'_>| {
        let mut program = program();
        change(&mut program);
        write(&program).unwrap_err().to_string()
    };
    let cases: [(Change<'_>, &str); 14] = [
        (&|p| p.address = 32, "`program.address`: is 0x20: programs begin at multiples of 64"),
        (&|p| p.instructions.truncate(3), "`program`: has 3 instructions, but no `end`"),
        (
            &|p| p.instructions[0] = Op::ShapeKer { n: 37 },
            "instruction 0: @shape.ker: the ker buffer cannot have 37",
        ),
        (
            &|p| p.instructions[10] = Op::LoadIfm { addr: 1 << 22 },
            "instruction 10: `addr` of ld.ifm is 4194304",
        ),
        (
            &|p| p.segments[0].address = u32::MAX - 7,
            "segment 0, 256 bytes at 0xfffffff8, ends beyond the memory of 2^32",
        ),
        (&|p| p.segments[0].address = Program::ADDRESS, "overlaps"),
        (&|p| p.inputs[0].perm = vec![0, 1, 1, 2], "`input[0]`: `x`: perm [0, 1, 1, 2] is not a permutation"),
        (&|p| p.inputs[0].shape = vec![1, 16, 2, 4], "`input[0]`: `x`: a tensor of shape [1, 16, 2, 4]"),
        (&|p| p.outputs[0].planes.pitch = 4, "`output[0]`: `y`: rows are 4 slots apart, but 5 slots long"),
        (&|p| p.outputs[0].fraction = 300, "a fraction of 300 bits"),
        (
            &|p| p.outputs[0].planes.groups = vec![Group { address: 0, channels: 65, lanes: 0 }],
            "group 0 has 65 channels",
        ),
        (&|p| p.inputs.push(p.inputs[0].clone()), "`input[1].name`: there are two named `x`"),
        (&|p| p.host_steps[0].output = "z".to_owned(), "`host_step[0].output`: output `z` does not exist"),
        (
            &|p| p.layers[0].count = 16,
            "`layer[0]`: has 16 instructions starting at 0, but the program has 15",
        ),
    ];
    for (change, message) in cases {
        let error = refused(change);
        assert!(error.contains(message), "{error}\n  lacks {message}");
    }
    let axes = refused(&|p| p.host_steps[0].op = HostOp::Softmax(Softmax { axis: 1, axis_end: 5 }));
    assert!(axes.contains("`host_step[0].axis_end`: is 5 with axis 1, but the output has 4 axes"), "{axes}");
}

#[test]
fn every_fault_of_a_file_has_its_place() {
    let refused = |file: usize, change: &dyn Fn(&mut Vec<u8>)| {
        read_back(&changed(file, change)).unwrap_err().to_string()
    };
    let replaced = |from: &'static str, to: &'static str| {
        refused(0, &move |bytes| {
            let text = String::from_utf8(bytes.clone()).unwrap();
            assert!(text.contains(from), "{text}");
            *bytes = text.replacen(from, to, 1).into_bytes();
        })
    };
    let cases = [
        (
            refused(1, &|bytes| bytes.truncate(21)),
            "double.words: byte 0x14: only 1 of 4 bytes of a word are present",
        ),
        (refused(1, &|bytes| bytes[8] = 0x3F), "word 2 (byte 0x8), 0x0000003f: opcode 63 has no meaning"),
        (
            refused(1, &|bytes| bytes.extend([0; 4])),
            "double.words has 16 words, but the manifest specifies 15",
        ),
        (
            refused(2, &|bytes| bytes.truncate(255)),
            "`segment[0]`: `double.image` has 255 bytes, but 256 bytes at offset 0 are needed",
        ),
        (refused(0, &|bytes| bytes[3] = 0xFF), "byte 3 is not UTF-8 text"),
        (refused(0, &|bytes| bytes.truncate(40)), "double.opu.toml: "),
        (replaced("npukit-opu-1", "npukit-opu-9"), "this npukit reads `npukit-opu-1`"),
        (replaced("macs = ", "mads = "), "unknown field `mads`"),
        (replaced("\"int8\"", "\"int99\""), "there is no type `int99`"),
        (replaced("queue = 4", "queue = 0"), "config: `timing.queue` is 0"),
        (
            replaced("\"Softmax\"", "\"Maxsoft\""),
            "`op` is `Maxsoft`, which is not a host step of this version of npukit",
        ),
        (replaced("file = \"double.image\"", "file = \"../../etc/passwd\""), "there is no such file"),
    ];
    for (error, message) in cases {
        assert!(error.contains(message), "{error}\n  lacks {message}");
    }
}

/// Files of two compilations that match in every size.
#[test]
fn files_of_two_compilations_are_refused() {
    let mut theirs = program();
    theirs.instructions.swap(0, 1);
    theirs.segments[0].bytes[3] = 1;
    let (ours, theirs) = (write(&program()).unwrap(), write(&theirs).unwrap());
    for part in [1, 2] {
        let mut mixed = ours.clone();
        mixed[part] = theirs[part].clone();
        assert_ne!(ours[part], mixed[part]);
        let error = OPU.load("double.opu.toml", &resolve(&mixed)).err().unwrap().to_string();
        let name = &ours[part].name;
        assert!(error.starts_with(&format!("`{name}` is not the file that `double.opu.toml`")), "{error}");
    }
    let error = read_back(&[theirs[0].clone(), ours[1].clone(), ours[2].clone()]).unwrap_err().to_string();
    assert!(error.starts_with("`double.words` is not the file"), "{error}");
}

/// The message for a changed manifest does not depend on its contents.
#[test]
fn every_changed_byte_of_a_manifest_is_refused() {
    let files = write(&program()).unwrap();
    for place in 0..files[0].bytes.len() {
        for bit in [0, 2, 5] {
            let mut changed = files.clone();
            changed[0].bytes[place] ^= 1 << bit;
            assert!(read_back(&changed).is_err(), "byte {place}, bit {bit}");
        }
    }
    let text = String::from_utf8(files[0].bytes.clone()).unwrap();
    let refused = |text: String| {
        let bytes = resealed(&text, &[]).into_bytes();
        let manifest = ArtifactFile { name: files[0].name.clone(), bytes };
        read_back(&[manifest, files[1].clone(), files[2].clone()]).unwrap_err().to_string()
    };
    let mut table: toml::Table = text.parse().unwrap();
    let hashes = table.insert("sha256".to_owned(), toml::Table::new().into()).unwrap();
    assert!(refused(table.to_string()).contains("is not a file that"), "an empty table");
    assert!(table.remove("sha256").is_some());
    assert!(refused(table.to_string()).contains("missing field `sha256`"));
    table.insert("sha256".to_owned(), hashes);
    assert!(table.remove("digest").is_some());
    assert!(refused(table.to_string()).contains("missing field `digest`"));
}

#[test]
fn files_stay_in_their_folder() {
    let files = changed(0, |bytes| {
        let text = String::from_utf8(bytes.clone()).unwrap();
        *bytes = text.replace("double.words", "../double.words").into_bytes();
    });
    let error = OPU.load("double.opu.toml", &resolve(&files)).err().unwrap().to_string();
    assert!(error.contains("is not a plain file name"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Any byte of any file may have any value: reading gives a program or an error, and a program
    /// runs or faults.
    #[test]
    fn no_byte_breaks_a_reader(file in 0..3usize, at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let files = changed(file, |bytes| {
            let place = at.index(bytes.len());
            bytes[place] = byte;
        });
        if let Ok(program) = read_back(&files) {
            let x = vec![1; program.inputs.first().map_or(0, Binding::elements)];
            let _ = Board::new(&program, UninitMemory::Poison).and_then(|mut board| board.run(&[x]));
            let _ = npukit_opu::internals::validate::program(&program);
        }
    }
}
