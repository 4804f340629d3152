//! Assembly programs on their machine.

use npukit_opu::OPU;
use npukit_target::{
    AsmOptions, AsmProgram, Finding, HazardMode, InstanceSpec, Limits, Machine, MachineMemory, NoFiles,
    Stopped, TargetError, TimeOptions, UninitMemory,
};

pub const SPARE: AsmOptions = AsmOptions { meaning: HazardMode::Agreed, unset: UninitMemory::Zero };
const STRICT: AsmOptions = AsmOptions { meaning: HazardMode::Agreed, unset: UninitMemory::Poison };
pub const NO_LIMITS: Limits = Limits { instructions: None, cycles: None };

/// One pixel of 16 channels from bank 0, doubled.
const DOUBLE: &str = "\
@shape.ifm [1,1,16]
@shape.ofm [1,1,2]
@shape.ker 1
@mem.ifm 0, 1
@mem.ker 1
@mem.ofm 3, [1,1]
@stride [1,1]
@shift 9, 0
@post pool
@pool [1,1], [1,1]
ld.ifm 5
ld.ker 1
conv ifm:[0,0], ker:0
store 7
end
";

pub fn on(preset: &str, name: &str, bytes: &[u8]) -> Result<Box<dyn AsmProgram>, TargetError> {
    OPU.instance(InstanceSpec::Preset(preset)).unwrap().asm_program(name, bytes, &NoFiles)
}

fn written(text: &str) -> Box<dyn AsmProgram> {
    on("reference", "p.s", text.as_bytes()).unwrap()
}

fn place(machine: &dyn Machine, name: &str) -> usize {
    let memories = machine.memories();
    memories.iter().position(|memory| memory.name == name).unwrap_or_else(|| panic!("{name}"))
}

pub fn fill(machine: &mut dyn Machine, name: &str, address: u64, numbers: &[i64]) {
    let memory = place(machine, name);
    machine.write(memory, address, numbers).unwrap();
}

pub fn held(machine: &dyn Machine, name: &str, address: u64, count: u64) -> Result<Vec<i64>, TargetError> {
    machine.read(place(machine, name), address, count)
}

/// Returns the message of an error, and the byte of the text to which it points.
pub fn pointed(error: &TargetError) -> (String, usize) {
    let TargetError::Text(fault) = error else { panic!("{error}") };
    (fault.to_string(), fault.labels().unwrap().next().unwrap().offset())
}

fn stopped(program: &dyn AsmProgram, limits: Limits, options: &AsmOptions) -> (String, usize) {
    let stopped: Stopped = program.machine(options).unwrap().run(limits).unwrap_err();
    pointed(&program.text().stopped(stopped))
}

/// Returns a machine with the pixel and the kernel of [`DOUBLE`].
fn filled(program: &dyn AsmProgram, options: &AsmOptions) -> Box<dyn Machine> {
    let mut machine = program.machine(options).unwrap();
    let mut pixel = vec![0; 64];
    (pixel[0], pixel[1]) = (21, -4);
    fill(&mut *machine, "features.0", 5, &pixel);
    let mut kernel = vec![0; 32];
    (kernel[0], kernel[17]) = (1, 1);
    fill(&mut *machine, "weights.1", 64, &kernel);
    machine
}

#[test]
fn banks_buffers_and_registers_have_names() {
    let program = written(DOUBLE);
    let mut machine = filled(&*program, &STRICT);
    let ran = machine.run(NO_LIMITS).unwrap();
    assert_eq!((ran.instructions, &ran.remarks[..]), (15, &[][..]));
    assert_eq!(held(&*machine, "features.3", 7, 1).unwrap()[..3], [42, -8, 0]);
    assert_eq!(held(&*machine, "ofm", 0, 1).unwrap()[..3], [21 << 9, -4 << 9, 0]);
    assert_eq!(held(&*machine, "ker", 1, 1).unwrap()[..2], [0, 1]);
    assert_eq!(held(&*machine, "memory", 0x3000_0000 + 7 * 64, 2).unwrap(), [42, 0xF8]);
    assert_eq!(held(&*machine, "ifm_shift", 0, 1).unwrap(), [9]);
    assert_eq!(held(&*machine, "ofm_addr", 0, 1).unwrap(), [0x3000_0000]);
    let message = |name, address, count| held(&*machine, name, address, count).unwrap_err().to_string();
    assert!(message("ofm", 0, 2).contains("has 1 rows of 2 values now"));
    assert!(message("bias", 0, 1).contains("not valid"));
    assert!(message("bias_addr", 0, 1).contains("the program has no `@mem.bias`"));
}

#[test]
fn memories_have_the_types_of_the_instance() {
    for (preset, features, weights, biases) in [
        ("reference", (1 << 22, 8, true), (1 << 28, 8, true), (1 << 27, 16, true)),
        ("int16", (1 << 21, 16, true), (1 << 27, 16, true), (1 << 26, 32, true)),
        ("bf16", (1 << 21, 16, false), (1 << 27, 16, false), (1 << 26, 32, false)),
        ("fp32", (1 << 20, 32, false), (1 << 26, 32, false), (1 << 26, 32, false)),
        ("fx12", (1 << 21, 12, true), (1 << 28, 8, true), (1 << 26, 24, true)),
    ] {
        let machine = on(preset, "p.s", b"end").unwrap().machine(&SPARE).unwrap();
        let memories = machine.memories();
        for (name, shape) in [("features.15", features), ("weights.0", weights), ("biases.3", biases)] {
            let MachineMemory { depth, bits, is_signed, .. } = memories[place(&*machine, name)];
            assert_eq!((depth, bits, is_signed), shape, "{preset} {name}");
        }
        assert_eq!(memories.len(), 1 + 3 * 16 + 4 + 25);
    }
}

#[test]
fn real_values_are_of_the_instances_format() {
    let number = |preset, name, real| {
        let machine = on(preset, "p.s", b"end").unwrap().machine(&SPARE).unwrap();
        let memory = place(&*machine, name);
        let number = machine.number(memory, real);
        (number, number.and_then(|number| machine.real(memory, number)))
    };
    assert_eq!(number("reference", "features.0", 1.0), (None, None));
    assert_eq!(number("fx12", "features.0", -1.5), (Some(-384), Some(-1.5)));
    assert_eq!(number("fp16", "ofm", -1.5), (Some(0xBE00), Some(-1.5)));
    assert_eq!(number("bf16", "biases.0", -1.5), (Some(0xBFC0_0000), Some(-1.5)));
    let machine = on("fp16", "p.s", b"end").unwrap().machine(&SPARE).unwrap();
    assert!(machine.real(place(&*machine, "features.0"), 0x7C00).unwrap().is_nan());
}

#[test]
fn every_number_comes_back_from_every_bank() {
    for preset in ["reference", "int16", "bf16", "fp16", "fp32", "fx12"] {
        let mut machine = on(preset, "p.s", b"end").unwrap().machine(&SPARE).unwrap();
        for (index, memory) in
            machine.memories().to_vec().into_iter().enumerate().filter(|(_, m)| m.name.contains('.'))
        {
            let (least, most) = memory.range();
            let ends = [least as i64, most as i64];
            let numbers: Vec<i64> = (0..memory.lanes).map(|lane| ends[lane % 2]).collect();
            machine.write(index, 3, &numbers).unwrap();
            assert_eq!(machine.read(index, 3, 1).unwrap(), numbers, "{preset} {}", memory.name);
        }
    }
}

#[test]
fn words_buffers_and_registers_are_not_written_over() {
    let program = written("end\nend");
    let mut machine = program.machine(&SPARE).unwrap();
    let mut message = |name: &str, address, numbers: &[i64]| {
        let memory = place(&*machine, name);
        machine.write(memory, address, numbers).unwrap_err().to_string()
    };
    assert!(message("memory", 0xFFFF_0007, &[1]).contains("the program's own words"));
    assert!(message("ofm", 0, &[1; 64]).contains("`conv`"));
    assert!(message("ker", 0, &[1; 64]).contains("`ld.ker`, from `weights.B`"));
    assert!(message("pool_h", 0, &[1]).contains("is only written by instructions: `@pool`"));
    fill(&mut *machine, "memory", 0xFFFF_0008, &[1]);
}

#[test]
fn reads_of_the_unwritten_are_told_with_their_line() {
    let program = written(DOUBLE);
    let mut machine = program.machine(&SPARE).unwrap();
    fill(&mut *machine, "memory", 5 * 64, &[1; 15]);
    let ran = machine.run(NO_LIMITS).unwrap();
    let remarks: Vec<String> = ran.remarks.iter().map(|remark| program.text().remark(remark)).collect();
    let [ifm, ker] = &remarks[..] else { panic!("{remarks:?}") };
    assert!(ifm.contains("0x14f was never written, which is `features.0[5]`; it is read as 0"), "{ifm}");
    assert!(ifm.contains("line 11") && ifm.contains("ld.ifm 5"), "{ifm}");
    assert!(ker.contains("`weights.1[64]`") && ker.contains("ld.ker 1"), "{ker}");
    let (message, at) = stopped(&*program, NO_LIMITS, &STRICT);
    assert!(message.contains("never written"), "{message}");
    assert_eq!(at, DOUBLE.find("ld.ifm").unwrap());
}

#[test]
fn faults_point_to_their_line() {
    let (message, at) = stopped(&*written("\n  store 0\nend"), NO_LIMITS, &SPARE);
    assert_eq!(message, "instruction 0: register ofm_h is undefined; set it with `@shape.ofm` first");
    assert_eq!(at, 3);
    let (message, at) = stopped(&*written("@shape.ker 1\n.word 0x00000009\nend"), NO_LIMITS, &SPARE);
    assert!(message.contains("opcode 9 has no meaning"), "{message}");
    assert_eq!(at, 13);
    let (message, at) = stopped(&*written("@shape.ker 1\n@mem.ker 2"), NO_LIMITS, &SPARE);
    assert!(message.contains("the program of 2 words ends without `end`"), "{message}");
    assert_eq!(at, 13);
    assert!(written("# nothing").machine(&SPARE).unwrap().run(NO_LIMITS).is_err());
}

#[test]
fn limits_are_of_instructions_and_cycles() {
    let program = written(DOUBLE);
    let time = program.compiled().unwrap().time(&TimeOptions::default()).unwrap();
    let cycles = time.cycles[&time.clock];
    let run = |limits| filled(&*program, &SPARE).run(limits);
    assert!(run(Limits { instructions: Some(15), cycles: Some(cycles) }).is_ok());
    let late = run(Limits { instructions: Some(14), cycles: None }).unwrap_err();
    assert_eq!((late.instruction, late.error.to_string().contains("14 instructions")), (Some(14), true));
    let late = run(Limits { instructions: None, cycles: Some(cycles - 1) }).unwrap_err();
    assert!(late.error.to_string().contains(&format!("{} cycles", cycles - 1)), "{}", late.error);
}

/// A word that the program overwrites before it is reached is executed with its new contents (R17):
/// here `end`.
#[test]
fn programs_may_write_over_their_words() {
    let text = "\
@shape.ifm [1,1,16]
@shape.ofm [1,1,2]
@shape.ker 1
@mem.ifm 0, 1
@mem.ker 1
@mem.ofm 15, [1,1]
@stride [1,1]
@shift 8, 0
@post pool
@pool [1,1], [1,1]
ld.ifm 5
ld.ker 1
conv ifm:[0,0], ker:0
store 0x3ffc01
@shape.ker 2
@shape.ker 3
.word 0x00000009
";
    let program = written(text);
    // The two zero bytes are the lower half of word 0x9, at 0xFFFF0040.
    let mut machine = filled(&*program, &SPARE);
    fill(&mut *machine, "features.0", 5, &[0; 64]);
    let ran = machine.run(NO_LIMITS).unwrap();
    assert_eq!((ran.instructions, held(&*machine, "ker_n", 0, 1).unwrap()), (17, vec![3]));
    let error = program.compiled().err().unwrap();
    assert!(pointed(&error).0.contains("opcode 9"));
}

#[test]
fn words_run_as_text_does() {
    let instance = OPU.instance(InstanceSpec::Preset("reference")).unwrap();
    let words = instance.assemble("p.s", DOUBLE, &NoFiles).unwrap().bytes;
    let program = on("reference", "p.words", &words).unwrap();
    let mut machine = filled(&*program, &SPARE);
    assert_eq!(machine.run(NO_LIMITS).unwrap().instructions, 15);
    assert_eq!(held(&*machine, "features.3", 7, 1).unwrap()[..2], [42, -8]);
    let error = on("reference", "p.words", &words[..7]).err().unwrap();
    assert!(error.to_string().contains("p.words"), "{error}");
    assert_eq!(program.compiled().unwrap().report().instructions, 15);
    assert_eq!(program.compiled().unwrap().lint().unwrap(), []);
}

#[test]
fn sums_that_do_not_fit_are_told() {
    let program = written(&DOUBLE.replace("@shift 9, 0", "@shift 14, 0"));
    let ran = filled(&*program, &SPARE).run(NO_LIMITS).unwrap();
    let [remark] = &ran.remarks[..] else { panic!("{:?}", ran.remarks) };
    assert_eq!(remark.instruction, Some(13));
    assert!(remark.message.starts_with("2 of the values it stores"), "{}", remark.message);
}

/// A convolution of an `ifm` tile, with everything loaded: which of the two readings accepts it.
fn bounds(ifm: [u32; 2], ofm: [u32; 2], stride: [u32; 2], conv: &str) -> [Option<String>; 2] {
    let ([ih, iw], [oh, ow], [sh, sw]) = (ifm, ofm, stride);
    // `conv.acc` adds to the sums of a step that both readings accept.
    let text = format!(
        "@shape.ifm [{ih},{iw},16]\n@shape.ofm [{oh},{ow},2]\n@shape.ker 1\n@mem.ifm 0, {iw}\n@mem.ker 1\n\
         @mem.bias 2\n@stride [1,1]\n@shift 0, 0\nld.ifm 0\nld.ker 0\nld.bias 0\nconv ifm:[0,0], ker:0\n\
         @stride [{sh},{sw}]\n{conv}, ker:0\nend\n"
    );
    let [corrected, draft, seed] = ["reference", "reference+draft", "reference+seed"].map(|preset| {
        let program = on(preset, "p.s", text.as_bytes()).unwrap();
        let mut machine = program.machine(&SPARE).unwrap();
        let found = machine.run(NO_LIMITS).err().map(|stopped| {
            let (message, at) = pointed(&program.text().stopped(stopped));
            assert_eq!(at, text.rfind(&format!("{conv}, ker")).unwrap());
            message
        });
        let linted = OPU.instance(InstanceSpec::Preset(preset)).unwrap().lint_text("p.s", &text, &NoFiles);
        match (&found, linted) {
            // The text does not store its sums, which is a warning.
            (None, Ok(linted)) => assert!(!linted.findings.iter().any(Finding::is_error)),
            (Some(_), Ok(linted)) => {
                let found = linted.findings.iter().find(|finding| finding.is_error());
                assert_eq!(found.unwrap().code, "conv-bounds");
            }
            // The assembler with the draft's conditions rejects the text.
            (Some(_), Err(error)) => {
                assert_ne!(preset, "reference");
                assert_eq!(pointed(&error).1, text.rfind(&format!("{conv}, ker")).unwrap());
            }
            (None, Err(error)) => panic!("{error}"),
        }
        found
    });
    assert_eq!(seed, draft);
    [corrected, draft]
}

/// S10: sizes decide which reading accepts, and each error names its rule.
#[test]
fn a_convolution_is_valid_by_the_corrected_condition_or_by_the_drafts() {
    let both = bounds([4, 4], [4, 4], [1, 1], "conv ifm:[0,0]");
    assert_eq!(both, [None, None]);
    let [corrected, draft] = bounds([4, 4], [1, 1], [3, 1], "conv ifm:[3,0]");
    assert_eq!(corrected, None);
    let draft = draft.unwrap();
    assert!(draft.contains("3 + 1 * (3 - 1) = 5, which is not below the 4 rows"), "{draft}");
    assert!(
        draft.contains("the draft's condition of `conv`, 2.3.2: h + ofm_h * (stride_h - 1) < ifm_h"),
        "{draft}"
    );
    let [corrected, draft] = bounds([4, 4], [3, 3], [1, 2], "conv ifm:[0,0]");
    let (corrected, draft) = (corrected.unwrap(), draft.unwrap());
    assert!(corrected.contains("the last column read is 0 + (3 - 1) * 2 = 4"), "{corrected}");
    assert!(corrected.contains("corrected condition: w + (ofm_w - 1) * stride_w < ifm_w"), "{corrected}");
    assert!(draft.contains("the draft's condition allows it, and its formula reads"), "{draft}");
}

/// S11: the condition of `conv.bias` has h for columns.
#[test]
fn the_drafts_condition_of_conv_bias_has_h_for_columns() {
    let [corrected, draft] = bounds([8, 4], [1, 1], [1, 1], "conv.bias ifm:[5,0]");
    assert_eq!(corrected, None);
    let draft = draft.unwrap();
    assert!(draft.contains("5 + 1 * (1 - 1) = 5, which is not below the 4 columns"), "{draft}");
    assert!(draft.contains("with h as printed there"), "{draft}");
    assert_eq!(bounds([8, 4], [1, 1], [1, 1], "conv ifm:[5,0]"), [None, None]);
}

/// S12: `conv.acc` has no condition in the draft; in both readings its data must be in the buffer.
#[test]
fn conv_acc_has_no_condition_in_the_draft() {
    assert_eq!(bounds([4, 4], [1, 1], [3, 3], "conv.acc ifm:[3,3]"), [None, None]);
    let [corrected, draft] = bounds([4, 4], [2, 2], [3, 3], "conv.acc ifm:[2,0]");
    assert!(corrected.unwrap().contains("corrected condition"));
    assert!(draft.unwrap().contains("the draft's condition allows it"));
}

/// S27: in the draft, `@shape.ofm` keeps the biases, which may be too few then.
#[test]
fn the_draft_keeps_biases_of_another_shape() {
    let run = |preset: &str, first: u32, then: u32| {
        let text = format!(
            "@shape.ifm [1,1,16]\n@shape.ofm [1,1,{first}]\n@shape.ker 1\n@mem.ifm 0, 1\n@mem.ker 1\n@mem.bias 2\n\
             @stride [1,1]\n@shift 0, 0\nld.ifm 0\nld.bias 0\n@shape.ofm [1,1,{then}]\nld.ker 0\n\
             conv.bias ifm:[0,0], ker:0\nend\n"
        );
        let program = on(preset, "p.s", text.as_bytes()).unwrap();
        let mut machine = program.machine(&SPARE).unwrap();
        fill(&mut *machine, "biases.2", 0, &[7, 8, 9, 10]);
        let ran = machine.run(NO_LIMITS).map_err(|stopped| stopped.error.to_string());
        ran.map(|_| held(&*machine, "ofm", 0, 1).unwrap()[..4].to_vec())
    };
    assert!(run("reference", 4, 2).unwrap_err().contains("`@shape.ofm` changed its shape"));
    assert_eq!(run("reference+draft", 4, 2).unwrap(), [7, 8, 0, 0]);
    assert_eq!(run("reference+seed", 4, 2).unwrap(), [7, 8, 0, 0]);
    assert!(run("reference+draft", 2, 4).unwrap_err().contains("it has 2 values for 4 channels"));
    assert_eq!(run("reference", 4, 4), run("reference+draft", 4, 4));
}
