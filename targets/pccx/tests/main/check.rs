//! The lint of asynchronous instructions, compared with a check of all pairs of instructions.

use npukit_pccx::internals::check::{Unfenced, program_warnings, unfenced, word_findings};
use npukit_pccx::internals::op::{Banks, Cache, Cvo, CvoFunc, Device, Memcpy, Memset, Op, Shape};
use npukit_pccx::internals::program::HostOp;
use npukit_pccx::internals::usage::{Conflict, Use, Words};
use npukit_pccx::{Config, PCCX, Program};
use npukit_target::InstanceSpec;
use proptest::prelude::*;

fn assemble(text: &str) -> Vec<String> {
    PCCX.instance(InstanceSpec::Default)
        .unwrap()
        .assemble("test.s", text, &npukit_target::NoFiles)
        .unwrap()
        .warnings
}

/// fmap[0] is 64 values, 8 words; weight[0] is two rows of them.
const SHAPES: &str = "memset cache=fmap, idx=0, a=1, b=1, c=64\nmemset cache=weight, idx=0, a=0, b=2, c=64\n";

#[test]
fn what_depends_on_an_unfenced_transfer_is_said() {
    let warned = |text: &str| assemble(&format!("{SHAPES}{text}"));
    let load = "memcpy host->l2, dst=0x100, shape=0, async\n";
    let product = "gemv dst=0x200, src=0x107, size=0, shape=0\n";
    let found = warned(&format!("{load}{product}"));
    assert!(
        found[0].starts_with(
            "line 4: reads L2 word 0x107, which the async MEMCPY of instruction 2 writes: a synchronous MEMCPY or the \
             host must wait between them [unfenced-access]"
        ),
        "{found:?}"
    );
    assert_eq!(warned(&load.replace(", async", "").repeat(2)), Vec::<String>::new());
    assert_eq!(warned(&format!("{load}{}", product.replace("0x107", "0x108"))), Vec::<String>::new());
    // A synchronous instruction of the same engine, and of another.
    assert!(warned(&format!("{load}memcpy host->l2, dst=0, shape=0\n{product}")).is_empty());
    assert_eq!(warned(&format!("{load}cvo exp, src=0, dst=0, len=1\n{product}")).len(), 1);
    // A store to the host reads: other instructions may read the words, too, and must not write
    // them.
    let store = "memcpy l2->host, src=0x200, shape=0, async\n";
    assert!(warned(&format!("{store}{}", product.replace("0x200", "0x300"))).is_empty());
    let both = warned(&format!("{store}{product}"));
    assert!(
        both[0].contains("writes L2 word 0x200, which the async MEMCPY of instruction 2 reads"),
        "{both:?}"
    );
    let function = "cvo exp, src=0x400, dst=0x400, len=64, async\ncvo sqrt, src=0x300, dst=0x404, len=64\n";
    let words = &assemble(function)[0];
    assert!(words.contains("writes L2 words 0x404 to 0x407, which the async CVO of instruction 0 writes"));
}

#[test]
fn host_operations_wait() {
    let config = Config::preset("reference").unwrap();
    let load = Memcpy { from_device: Device::Host, is_async: true, ..Memcpy::default() };
    let set = Memset { dest_cache: Cache::FmapShape, dest_addr: 0, shape: Shape::new(1, 1, 8) };
    let code =
        vec![Op::Memset(set), Op::Memcpy(load), Op::Cvo(Cvo { length: 8, dst_addr: 9, ..Cvo::default() })];
    let program = |position| Program {
        code: code.clone(),
        host_ops: vec![HostOp { position, kind: 0, operands: vec![] }],
        ..Program::default()
    };
    assert_eq!(program_warnings(&config, &program(2)), Vec::<String>::new());
    for position in [1, 3] {
        assert_eq!(program_warnings(&config, &program(position)).len(), 1);
    }
}

#[test]
fn many_are_counted() {
    let text = "cvo exp, src=0, dst=0, len=1, async\n".repeat(60);
    let warnings = assemble(&text);
    assert_eq!(
        (warnings.len(), warnings.last().unwrap().as_str()),
        (51, "and 9 more: `npu lint` lists them")
    );
}

/// Checks each pair of instructions, as in the specification.
fn by_pairs(ops: &[Op], syncs: &[u32]) -> Vec<(usize, Vec<usize>)> {
    let mut banks = Banks::default();
    let uses: Vec<Use> = ops
        .iter()
        .map(|op| {
            let uses = Use::of(&banks, op);
            banks.step(op);
            uses
        })
        .collect();
    let same = |a: &Op, b: &Op| std::mem::discriminant(a) == std::mem::discriminant(b);
    let is_async = |op: &Op| match op {
        Op::Memcpy(op) => Some(op.is_async),
        Op::Cvo(op) => Some(op.is_async),
        _ => None,
    };
    let fenced = |a: usize, b: usize| {
        ops[a + 1..b].iter().any(|op| same(op, &ops[a]) && is_async(op) == Some(false))
            || syncs.iter().any(|&at| (a + 1..=b).contains(&(at as usize)))
    };
    let of = |b: usize| -> Vec<usize> {
        (0..b)
            .filter(|&a| {
                is_async(&ops[a]) == Some(true) && !fenced(a, b) && uses[a].conflict(&uses[b]).is_some()
            })
            .collect()
    };
    (0..ops.len()).map(|b| (b, of(b))).filter(|(_, of)| !of.is_empty()).collect()
}

fn any_op() -> impl Strategy<Value = Op> {
    let functions = prop::sample::select(vec![CvoFunc::Exp, CvoFunc::Scale, CvoFunc::ReduceSum]);
    prop_oneof![
        (0_u32..60, 0_u32..60, any::<bool>(), 0_u8..3).prop_map(|(src_addr, dest_addr, is_async, way)| {
            let device = |host| if host { Device::Host } else { Device::Npu };
            let (from_device, to_device) = (device(way == 1), device(way == 2));
            Op::Memcpy(Memcpy { from_device, to_device, src_addr, dest_addr, is_async, ..Memcpy::default() })
        }),
        (0_u32..60, 0_u32..60, any::<bool>(), 0_u16..100, functions).prop_map(
            |(src_addr, dst_addr, is_async, length, cvo_func)| {
                Op::Cvo(Cvo { cvo_func, src_addr, dst_addr, length, is_async, ..Cvo::default() })
            }
        ),
        (0_u16..100).prop_map(|z| {
            Op::Memset(Memset { dest_cache: Cache::FmapShape, dest_addr: 0, shape: Shape::new(1, 1, z) })
        }),
    ]
}

proptest! {
    #[test]
    fn the_lint_says_what_pairs_say(
        ops in prop::collection::vec(any_op(), 0..30),
        mut syncs in prop::collection::vec(0_u32..30, 0..2),
    ) {
        syncs.sort_unstable();
        let (found, pairs) = (unfenced(&ops, &syncs), by_pairs(&ops, &syncs));
        prop_assert_eq!(found.len(), pairs.len(), "{:?} {:?}", found, pairs);
        for (Unfenced { index, earlier, .. }, (expected, of)) in found.iter().zip(&pairs) {
            prop_assert!(index == expected && of.contains(earlier), "{} {} {:?}", index, earlier, of);
        }
    }
}

#[test]
fn words_meet_where_both_are() {
    let words = |first, count| Words::new(first, count).unwrap();
    assert_eq!(Words::new(3, 0), None);
    assert_eq!(words(3, 5).meeting(words(7, 9)), Some(words(7, 1)));
    assert_eq!(words(3, 5).meeting(words(8, 9)), None);
    let writes = |at| Use { writes: Words::new(at, 2), ..Use::default() };
    assert_eq!(writes(1).conflict(&writes(2)), Some((Conflict::WritesWritten, words(2, 1))));
}

/// The last value that hardware supports, and the first that it does not.
#[test]
fn what_hardware_does_not_take_is_named_from_its_limit_on() {
    let words = |mask: bool, text: &str| {
        let config = Config { lane_mask: mask, ..Config::preset("reference").unwrap() };
        let bytes = PCCX
            .instance(InstanceSpec::Default)
            .unwrap()
            .assemble("test.s", text, &npukit_target::NoFiles)
            .unwrap()
            .bytes;
        let found = word_findings(&config, &bytes).unwrap().into_iter();
        let of_ops =
            found.filter(|found| ["long-function", "too-many-lanes", "ignored-flag"].contains(&found.code));
        of_ops.map(|found| found.message).collect::<Vec<_>>()
    };
    let function = |length: &str| words(false, &format!("cvo exp, src=0, dst=0, len={length}"));
    assert_eq!(function("2048"), Vec::<String>::new());
    assert_eq!(
        function("2049"),
        ["CVO has 2049 elements, but hardware supports at most 2048: split the instruction"]
    );
    let lanes = |mask, count: u32| words(mask, &format!("gemv dst=0, src=0, size=0, shape=0, lanes={count}"));
    assert!(lanes(false, 0).is_empty() && lanes(false, 4).is_empty());
    assert_eq!(lanes(false, 5), ["GEMV asks for 5 lanes: there are 4"]);
    assert_eq!(lanes(true, 5), Vec::<String>::new(), "a mask of two lanes");
    let scale = "cvo scale, src=0, dst=8, len=1, flags=recip_scale";
    assert_eq!(words(false, scale), Vec::<String>::new());
}
