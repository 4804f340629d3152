//! The program container: what is written is read, and every damaged byte is an error or a program.

use std::sync::Arc;

use npukit_pccx::artifact::{ArtifactError, read, write};
use npukit_pccx::fault::Direction;
use npukit_pccx::op::{Cache, Cvo, CvoFunc, Device, Mac, MacFlags, Memcpy, Memset, Op, Shape};
use npukit_pccx::program::{Extra, HostOp, Program, Window};
use npukit_pccx::{Config, Machine, WeightImage};
use proptest::prelude::*;

/// Three values from the host times two rows of weights, and back.
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
    // 1, 2 and 3 as BF16, in the second unit.
    let input: Vec<u8> = [0x3F80_u16, 0x4000, 0x4040].into_iter().flat_map(u16::to_le_bytes).collect();
    machine.window_mut(Direction::HostToL2, 0).unwrap()[16..22].copy_from_slice(&input);
    machine.run(&again.code, &mut |_| ()).unwrap();
    let output = machine.window(Direction::L2ToHost, 0).unwrap();
    // (1 + 4 + 9) / 2 = 7 and 2 * (-4 + 10 - 18) = -24.
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
        "2 weights are bound, and there are 1 GEMVs and GEMMs: each takes one"
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
    assert!(changed(8, 2).starts_with("byte 0x8: flags 0x2"));
    for end in 0..bytes.len() {
        assert!(read(&bytes[..end]).is_err(), "cut at {end}");
    }
    let mut twice = bytes.clone();
    twice.copy_within(16..20, 28);
    assert_eq!(read(&twice).unwrap_err().to_string(), "byte 0x1c: section CODE is there twice");
    let mut overlapping = bytes.clone();
    overlapping.copy_within(20..24, 32);
    assert!(read(&overlapping).unwrap_err().to_string().contains("begins inside section"));
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
