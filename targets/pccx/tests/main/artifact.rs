//! The program container: it survives writing and reading, and each damaged byte gives an error or
//! a program.

use std::sync::Arc;

use npukit_pccx::internals::artifact::{
    ArtifactError, TextError, assembly, manifest, memh, read, read_memh, read_text, write,
};
use npukit_pccx::internals::fault::Direction;
use npukit_pccx::internals::op::{Cache, Cvo, CvoFunc, Device, Mac, MacFlags, Memcpy, Memset, Op, Shape};
use npukit_pccx::internals::program::{Extra, HostOp, Program, Window};
use npukit_pccx::{Codec, Config, Machine, PCCX, WeightImage, decode_program};
use npukit_target::{ArtifactFile, InstanceSpec, Parts};
use proptest::prelude::*;

/// Returns a program: three values from the host times two rows of weights, and back.
fn program() -> Program {
    let set = |dest_cache, dest_addr, shape| Op::Memset(Memset { dest_cache, dest_addr, shape });
    let flags = MacFlags { w_scale: true, ..MacFlags::default() };
    let image = WeightImage::new(2, 3, &[1, 2, 3, -4, 5, -6], Some(vec![0.5, 2.0])).unwrap();
    let window =
        |direction, name: &str| Window { number: 0, direction, size_bytes: 32, name: name.to_owned() };
    Program {
        code: vec![
            set(Cache::FmapShape, 0, Shape::new(1, 1, 3)),
            set(Cache::WeightShape, 1, Shape::new(0, 2, 3)),
            Op::Memcpy(Memcpy { from_device: Device::Host, aux_addr: 1, dest_addr: 9, ..Memcpy::default() }),
            Op::Gemv(Mac { src_addr: 9, dest_reg: 20, flags, size_ptr_addr: 1, ..Mac::default() }),
            Op::Memcpy(Memcpy { to_device: Device::Host, src_addr: 20, ..Memcpy::default() }),
        ],
        bindings: vec![1],
        images: vec![Arc::new(WeightImage::new(1, 1, &[7], None).unwrap()), Arc::new(image)],
        windows: vec![window(Direction::HostToL2, "inputs"), window(Direction::L2ToHost, "outputs, é")],
        host_ops: vec![
            HostOp { position: 2, kind: 7, operands: vec![1, 2, 3] },
            HostOp { position: 5, kind: 1, operands: vec![] },
        ],
        extras: vec![Extra { tag: *b"META", bytes: b"{}".to_vec() }],
        ..Program::default()
    }
}

#[test]
fn programs_survive_their_bytes_and_run() {
    let bytes = write(&program()).unwrap();
    let again = read(&bytes).unwrap();
    assert_eq!(again, program());
    assert_eq!(write(&again).unwrap(), bytes);
    let mut machine = Machine::new(&Config::preset(again.preset()).unwrap()).unwrap();
    again.bind(&mut machine).unwrap();
    // The input is 1, 2 and 3 as BF16, in the second unit of the window.
    let input: Vec<u8> = [0x3F80_u16, 0x4000, 0x4040].into_iter().flat_map(u16::to_le_bytes).collect();
    machine.window_mut(Direction::HostToL2, 0).unwrap()[16..22].copy_from_slice(&input);
    machine.run(&again.code, &mut |_| ()).unwrap();
    let output = machine.window(Direction::L2ToHost, 0).unwrap();
    // The expected outputs are (1 + 4 + 9) / 2 = 7 and 2 * (-4 + 10 - 18) = -24.
    assert_eq!(output[..4], [0xE0, 0x40, 0xC0, 0xC1]);
}

#[test]
fn broken_rules_are_named() {
    let broken = |change: fn(&mut Program)| {
        let mut program = program();
        change(&mut program);
        write(&program).unwrap_err().to_string()
    };
    assert_eq!(
        broken(|p| p.bindings.push(0)),
        "2 weights are bound, and there are 1 GEMVs and GEMMs whose weights stream: each takes one"
    );
    assert_eq!(broken(|p| p.bindings[0] = 2), "GEMV or GEMM number 0 takes weights 2: there are 2");
    assert!(
        broken(|p| p.windows[1].size_bytes = 24).starts_with("window 0 from L2 to the host has 24 bytes")
    );
    assert_eq!(
        broken(|p| p.windows[1] = p.windows[0].clone()),
        "there are two windows 0 from the host to L2"
    );
    assert!(broken(|p| p.host_ops[1].position = 6).starts_with("host operation 1 is at instruction 6"));
    let mul =
        |p: &mut Program| p.code.push(Op::Cvo(Cvo { cvo_func: CvoFunc::Mul, length: 1, ..Cvo::default() }));
    assert!(broken(mul).starts_with("instruction 5 is CVO mul"));
    assert!(
        broken(|p| p.code.push(Op::Cvo(Cvo { src_addr: 1 << 17, ..Cvo::default() })))
            .contains("`src_addr` of CVO")
    );
}

#[test]
fn errors_have_their_place() {
    let bytes = write(&program()).unwrap();
    let changed = |at: usize, value: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = value;
        read(&bytes).unwrap_err().to_string()
    };
    assert_eq!(changed(0, b'Q'), "byte 0x0: a program container begins with `PCP1`");
    assert_eq!(changed(4, 2), "byte 0x4: version 2: this reads version 1");
    assert!(changed(8, 4).starts_with("byte 0x8: flags 0x4: legal are sums of 1 (extensions) and 2"));
    for end in 0..bytes.len() {
        assert!(read(&bytes[..end]).is_err(), "cut at {end}");
    }
    let mut twice = bytes.clone();
    twice.copy_within(16..20, 28);
    assert_eq!(read(&twice).unwrap_err().to_string(), "byte 0x1c: there are two sections CODE");
    let mut overlapping = bytes.clone();
    overlapping.copy_within(20..24, 32);
    assert!(read(&overlapping).unwrap_err().to_string().contains("begins inside section"));
}

#[test]
fn programs_survive_text() {
    let program = Program { extras: vec![], ..program() };
    let (code, rest) = (assembly(&program).unwrap(), manifest(&program, Parts::default()).unwrap());
    assert_eq!(read_text(&code, &rest, program.images.clone()).unwrap(), program);
    assert!(code.contains("gemv dst=0x14, src=0x9, size=1, shape=0, flags=w_scale\n"), "{code}");
    assert!(rest.contains("\"\nextensions = false\nbindings = [1]\n\n[[weights]]\nn = 1\nk = 1\n"), "{rest}");
    assert!(rest.contains("direction = \"l2_to_host\"\nsize_bytes = 32\nname = \"outputs, é\""), "{rest}");
    let tanh = Op::Cvo(Cvo { cvo_func: CvoFunc::Tanh, length: 1, ..Cvo::default() });
    let extended = Program { extensions: true, code: vec![tanh], ..Program::default() };
    let (code, rest) = (assembly(&extended).unwrap(), manifest(&extended, Parts::default()).unwrap());
    assert_eq!(read_text(&code, &rest, vec![]).unwrap(), extended);
}

#[test]
fn a_manifest_has_the_hashes_of_the_files_beside_it() {
    let program = Program { extras: vec![], ..program() };
    let code = assembly(&program).unwrap();
    let file = ArtifactFile { name: "m.s".to_owned(), bytes: code.clone().into_bytes() };
    let rest = manifest(&program, Parts::of(&[file])).unwrap();
    assert!(rest.contains("[sha256]\n\"m.s\" = \""), "{rest}");
    assert_eq!(read_text(&code, &rest, program.images.clone()).unwrap(), program);
}

#[test]
fn texts_that_are_no_program_are_named() {
    let program = program();
    let (code, rest) = (assembly(&program).unwrap(), manifest(&program, Parts::default()).unwrap());
    let error = |code: &str, rest: &str, images: &[Arc<WeightImage>]| {
        read_text(code, rest, images.to_vec()).unwrap_err().to_string()
    };
    let images = &program.images[..];
    assert_eq!(error(&code, &rest, &images[..1]), "there are 1 weight images: the manifest lists 2");
    let twice = [images[0].clone(), images[0].clone()];
    assert_eq!(
        error(&code, &rest, &twice),
        "weight image 1 is 1 rows of 1, without scales: the manifest requires 2 rows of 3, with scales"
    );
    assert!(error(&code, &rest.replace("kind = 7", "kind = -7"), images).contains("kind = -7"));
    assert!(
        error(&code, &rest.replace("l2_to_host", "up"), images)
            .contains("expected `host_to_l2` or `l2_to_host`")
    );
    assert_eq!(error("gemw\n", &rest, images), "1 error in assembly");
    assert!(error(".word 0x5000000000000000", &rest, images).contains("opcode"));
    assert!(error("kick", &rest, images).starts_with("1 weights are bound"));
    assert!(matches!(read_text("", "extensions = 1", vec![]), Err(TextError::Manifest(_))));
    let broken = Program { bindings: vec![], ..program };
    assert!(manifest(&broken, Parts::default()).is_err());
}

#[test]
fn memh_carries_the_words() {
    let program = program();
    let text = memh(&program).unwrap();
    assert_eq!(text.lines().count(), program.code.len());
    assert!(text.starts_with("3000001000100030\n3410000000200030\n"), "{text}");
    let codec = Codec { extensions: false, strict: true };
    assert_eq!(decode_program(&codec, &read_memh("a.memh", &text).unwrap()).unwrap(), program.code);
    let commented = "# a program\n\n  3000001000100030 // one\r\n8000000000000000# two";
    assert_eq!(read_memh("a.memh", commented).unwrap()[8..], 0x8000_0000_0000_0000_u64.to_le_bytes());
    let errors = read_memh("a.memh", "8000000000000000\n  80 // short\n+000000000000000\n0x00000000000000")
        .unwrap_err();
    let places: Vec<_> =
        errors.errors.iter().map(|error| (error.span().offset(), error.to_string())).collect();
    let expected = |at, word| (at, format!("expected 16 hexadecimal digits, found `{word}`"));
    assert_eq!(
        places,
        [expected(19, "80"), expected(31, "+000000000000000"), expected(48, "0x00000000000000")]
    );
    let many = read_memh("a.memh", &"x\n".repeat(103)).unwrap_err();
    assert_eq!((many.errors.len(), many.more), (100, 3));
    // The assembler recognizes the format from the file name.
    let instance = PCCX.instance(InstanceSpec::Default).unwrap();
    assert_eq!(instance.assemble("a.memh", &text, &npukit_target::NoFiles).unwrap().instructions, 5);
    assert!(instance.assemble("a.s", &text, &npukit_target::NoFiles).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn damaged_containers_are_refused_or_read(changes in prop::collection::vec((0_usize..700, any::<u8>()), 1..4), cut in 0_usize..700) {
        let mut bytes = write(&program()).unwrap();
        let size = bytes.len();
        for (at, value) in changes {
            bytes[at % size] = value;
        }
        if cut % 3 == 0 {
            bytes.truncate(cut % size);
        }
        match read(&bytes) {
            Ok(program) => prop_assert!(program.check().is_ok()),
            Err(ArtifactError::Short { offset, .. } | ArtifactError::Malformed { offset, .. }) => {
                prop_assert!(offset <= bytes.len().max(u32::MAX as usize));
            }
            Err(_) => {}
        }
    }
}

/// Images must not share bytes: otherwise a small file would fill memory.
#[test]
fn images_lie_apart() {
    let image = |n: usize| Arc::new(WeightImage::new(n, 32, &vec![1; 32 * n], None).unwrap());
    let images: Vec<Arc<WeightImage>> = (0..8).map(|_| image(1)).chain([image(64)]).collect();
    let mut bytes = write(&Program { images, ..Program::default() }).unwrap();
    // Offsets follow the number of images; then the first image begins, at a whole number of words.
    let first = [9u32.to_le_bytes(), 80u32.to_le_bytes(), [0; 4]].concat();
    let at = bytes.windows(12).position(|found| found == first).unwrap() + 4;
    let last: Vec<u8> = bytes[at + 64..at + 72].to_vec();
    (0..8).for_each(|place| bytes[at + 8 * place..][..8].copy_from_slice(&last));
    let error = read(&bytes).unwrap_err().to_string();
    assert!(error.contains("weight image 1 begins inside another"), "{error}");
}
