//! The instruction set: the table, the typed codec and the text agree.

use npukit_pccx::internals::codec::KICK_MARKER;
use npukit_pccx::internals::op::{Cvo, CvoFunc, Device, INSTRUCTION_BYTES, Mac, Memcpy};
use npukit_pccx::{Codec, Config, Op, PCCX, isa};
use npukit_target::{Instance, InstanceSpec};
use proptest::prelude::*;

fn instance(preset: &str) -> Box<dyn Instance> {
    PCCX.instance(InstanceSpec::Preset(preset)).unwrap()
}

fn codec(extensions: bool, strict: bool) -> Codec {
    Codec { extensions, strict }
}

fn assemble(text: &str) -> Vec<u64> {
    let bytes = instance("reference").assemble("test.s", text, &npukit_target::NoFiles).unwrap().bytes;
    bytes.chunks(INSTRUCTION_BYTES).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect()
}

/// Examples of specification 2.4, with the words of its table where given.
#[test]
fn the_documents_text_is_read() {
    let text = "
        memset  cache=fmap, idx=3, a=1, b=1, c=2048   # a comment
        memcpy  host->l2, dst=0x100, src=0, aux=0x0, shape=3, async
gemv:   gemv    dst=0x300, src=0x100, size=2, shape=3, lanes=0, flags=findemax|w_scale
        cvo     exp, src=0x300, dst=0x340, len=512, flags=sub_emax ; another
        gemm    dst=0x500, src=0x100, size=0, shape=0, flags=w_scale
        memcpy  l2->host, src=896, shape=3
        kick";
    assert_eq!(
        assemble(text),
        [
            0x3030_0010_0010_8000,
            0x2802_0000_0000_0007,
            0x0018_0004_0280_8300,
            0x4001_8000_d000_8020,
            0x1028_0004_0080_0000,
            0x2400_0003_8000_0006,
            KICK_MARKER,
        ]
    );
}

#[test]
fn operands_stand_in_any_order_and_symbols_for_numbers() {
    let text = "
        .equ act, 0x100
        .equ next, act + 8
rows:   memset c=64, a=1, b=1, idx=7, cache=fmap
        gemv shape=rows, flags=0, size=2, src=act, dst=next+2";
    let plain = "memset cache=fmap, idx=7, a=1, b=1, c=64\ngemv dst=0x10a, src=0x100, size=2, shape=7";
    assert_eq!(assemble(text), assemble(plain));
}

#[test]
fn wrong_text_is_named() {
    let error = |text: &str| {
        let error = instance("reference").assemble("test.s", text, &npukit_target::NoFiles).unwrap_err();
        let npukit_target::TargetError::Text(error) = error else { panic!("{error}") };
        error.related().unwrap().map(|one| one.to_string()).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(
        error("gemv dst=0x20000, src=0, size=64, shape=0"),
        "0x20000 does not fit: legal are 0 to 131071\n64 does not fit: legal are 0 to 63"
    );
    assert_eq!(error("gemv dst=1, size=1, shape=1"), "expected `src`, found the end of the line");
    assert_eq!(
        error("gemv dst=1, dst=2, src=0, size=1, shape=1"),
        "expected `src`, `size`, `shape`, `lanes` or `flags`, found `dst`"
    );
    assert_eq!(
        error("cvo mul, src=0, dst=0, len=1").lines().next().unwrap().split(',').next().unwrap(),
        "expected `exp`"
    );
    assert_eq!(
        error("cvo exp, src=0, dst=0, len=1, flags=accm|findemax"),
        "expected `sub_emax`, `recip_scale` or `accm`, found `findemax`"
    );
    assert_eq!(error("a: kick\na: kick"), "`a` is already defined");
    assert_eq!(
        error("gemv dst=1, src=0, size=1, shape=1, rsv=0x8"),
        "0x8 sets bits that are not reserved: reserved are 2:0, 22:20"
    );
    assert!(error(".equ 3, 4").starts_with("`.equ` needs a name"));
    assert!(
        error("a: kick\nmemcpy l2->host, src=a, shape=0").contains("found `a`"),
        "a label of a kick has no value"
    );
}

#[test]
fn what_hardware_does_otherwise_is_said() {
    let text = "gemv dst=0, src=0, size=0, shape=0, lanes=5\ncvo exp, src=0, dst=0, len=4096\n\
                cvo exp, src=0, dst=0, len=1, flags=recip_scale\nmemcpy host->host, shape=0\n\
                gemm dst=0, src=0, size=0, shape=0, lanes=5";
    let warnings = instance("reference").assemble("test.s", text, &npukit_target::NoFiles).unwrap().warnings;
    // Only the first line of each warning is compared, without the finding's code.
    let messages: Vec<&str> = warnings.iter().map(|warning| warning.split(" [").next().unwrap()).collect();
    assert_eq!(
        messages,
        [
            "line 1: GEMV asks for 5 lanes: there are 4",
            "line 2: CVO has 4096 elements, but hardware supports at most 2048: split the instruction",
            "line 3: recip_scale is only for scale: exp ignores it",
            "line 4: MEMCPY from host to host is refused by the machine",
        ]
    );
}

#[test]
fn listings_show_words_and_reserved_bits() {
    let bytes: Vec<u8> = [0x0000_0000_0010_0001_u64, 0x5000_0000_0000_0123, KICK_MARKER]
        .into_iter()
        .flat_map(u64::to_le_bytes)
        .collect();
    let instance = instance("reference");
    let own = instance.disassemble(&bytes, "npukit").unwrap();
    assert_eq!(
        own.text,
        "gemv dst=0x0, src=0x0, size=0, shape=0, rsv=0x100001 ; GEMV: reserved bits 0, 20 are not 0\n\
         .word 0x5000000000000123 ; no instruction\nkick\n"
    );
    assert_eq!(own.problems.len(), 2);
    assert_eq!(instance.assemble("again.s", &own.text, &npukit_target::NoFiles).unwrap().bytes, bytes);
    let listing = instance.disassemble(&bytes, "listing").unwrap().text;
    assert!(listing.ends_with("     2  8000000000000000  kick\n"), "{listing}");
    let memh = instance.disassemble(&bytes, "memh").unwrap().text;
    assert_eq!(memh, "0000000000100001\n5000000000000123\n8000000000000000\n");
    assert!(instance.disassemble(&bytes, "uops").unwrap().text.contains("load 0260000000000"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// The typed codec and the table refuse the same words, and both reproduce all other words.
    #[test]
    fn codec_and_table_agree(opcode in 0_u64..6, body: u64, masked: bool, extensions: bool) {
        let word = opcode << 60 | body >> 4;
        let word = if masked { word & !0x70_000f } else { word };
        let config = Config::preset(if extensions { "extended" } else { "reference" }).unwrap();
        let codec = codec(extensions, true);
        let typed = codec.decode(word);
        let table = isa(&config).decode(&word.to_le_bytes(), 0, None, npukit_isa::Mode::Strict);
        prop_assert_eq!(typed.is_ok(), table.is_ok(), "{:?} {:?}", typed, table);
        if let Ok(op) = typed {
            prop_assert_eq!(codec.encode(&op).unwrap(), word);
            let name = isa(&config).instructions[table.unwrap().instruction].name.clone();
            prop_assert_eq!(op.mnemonic(), name);
        }
        let lenient = codec.decode_lenient(word);
        if let Op::Dropped(dropped) = lenient {
            prop_assert_eq!(dropped, word);
        }
    }
}

#[test]
fn words_without_meaning_are_named() {
    for (extensions, word, kind, text) in [
        (
            false,
            0x5000_0000_0000_0123,
            "reserved_opcode",
            "opcode 0x5 has no meaning: legal are 0 to 4, and the kick marker 0x8000000000000000",
        ),
        (
            false,
            KICK_MARKER | 1,
            "reserved_opcode",
            "opcode 0x8 has no meaning: legal are 0 to 4, and the kick marker 0x8000000000000000",
        ),
        (
            false,
            0x3800_0000_0000_0000,
            "reserved_dest_cache",
            "`dest_cache` of MEMSET is 2: legal are 0 (fmap) and 1 (weight)",
        ),
        (false, 0x4800_0000_0000_0000, "reserved_cvo_func", "`cvo_func` of CVO is 8: legal are 0 to 7"),
        (true, 0x4b00_0000_0000_0000, "reserved_cvo_func", "`cvo_func` of CVO is 11: legal are 0 to 10"),
        (false, 0x0000_0000_0010_0001, "reserved_bits", "reserved bits 0, 20 of GEMV are not 0"),
        (false, 0x1000_0000_0070_0007, "reserved_bits", "reserved bits 2:0, 22:20 of GEMM are not 0"),
        (false, 0x3000_0000_0000_0009, "reserved_bits", "reserved bits 0, 3 of MEMSET are not 0"),
        (false, 0x4000_0000_0000_0006, "reserved_bits", "reserved bits 2:1 of CVO are not 0"),
    ] {
        let error = codec(extensions, true).decode(word).unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (kind, text), "{word:#x}");
        // A lenient instance drops the word or ignores the reserved bits.
        let lenient = codec(extensions, false).read(word).unwrap();
        assert_eq!(matches!(lenient, Op::Dropped(_)), kind != "reserved_bits", "{word:#x}");
    }
}

/// All directions except host to L2 act as L2 to host (specification 2.3).
#[test]
fn the_circuits_know_two_directions() {
    for (from, to, expected) in [
        (1, 0, [Device::Host, Device::Npu]),
        (0, 1, [Device::Npu, Device::Host]),
        (0, 0, [Device::Npu, Device::Host]),
        (1, 1, [Device::Npu, Device::Host]),
    ] {
        let word = 2 << 60 | from << 59 | to << 58 | 5 << 41 | 6 << 24 | 7 << 7 | 3 << 1 | 1;
        let [from_device, to_device] = expected;
        let moved = Memcpy {
            from_device,
            to_device,
            dest_addr: 5,
            src_addr: 6,
            aux_addr: 7,
            shape_ptr_addr: 3,
            is_async: true,
        };
        assert_eq!(codec(false, false).read(word), Ok(Op::Memcpy(moved)), "{from} {to}");
        let exact = if (from, to) == (1, 0) || (from, to) == (0, 1) {
            moved
        } else {
            let device = |bit| if bit == 1 { Device::Host } else { Device::Npu };
            Memcpy { from_device: device(from), to_device: device(to), ..moved }
        };
        assert_eq!(codec(false, true).read(word), Ok(Op::Memcpy(exact)), "{from} {to}");
    }
}

#[test]
fn instructions_without_a_word_are_named() {
    let error = |extensions, op| codec(extensions, true).encode(&op).map_err(|error| error.to_string());
    let functions = CvoFunc::ALL.map(|cvo_func| Op::Cvo(Cvo { cvo_func, ..Cvo::default() }));
    for (code, (function, op)) in CvoFunc::ALL.iter().zip(functions).enumerate() {
        let word = Ok(0x4000_0000_0000_0000 | (code as u64) << 56);
        let name = function.name();
        let refused = Err(format!(
            "CVO {name} is an extension: choose an instance with `extensions = true`, such as pccx:extended"
        ));
        assert_eq!(error(true, op), word, "{name}");
        assert_eq!(error(false, op), if code < 8 { word } else { refused }, "{name}");
    }
    let far = Op::Gemv(Mac { dest_reg: 1 << 17, ..Mac::default() });
    assert_eq!(error(true, far), Err("`dest_reg` of GEMV is 131072: legal are 0 to 131071".to_owned()));
}
