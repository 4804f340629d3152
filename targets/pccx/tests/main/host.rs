//! The host's side: commands as text and words, registers, accesses of a driver, answers of a
//! device.

use npukit_pccx::PCCX;
use npukit_target::{
    Generator, HostAnswer, HostRun, HostStream, Instance, InstanceSpec, NoFiles, Step, TargetError,
};

fn instance() -> Box<dyn Instance> {
    PCCX.instance(InstanceSpec::Default).unwrap()
}

fn commands(bytes: &[u8]) -> Result<HostStream, TargetError> {
    (instance().host().unwrap().commands)("c.host", bytes, &NoFiles)
}

fn accesses(text: &str) -> Result<HostRun, TargetError> {
    (instance().host().unwrap().accesses)("p.s", text.as_bytes(), 0x1000_0000, &NoFiles)
}

/// Words of the published runtime's encoder, from `golden/pccx/host_cmd.json`.
#[test]
fn commands_are_text_and_words() {
    let text = "reset_kv session=2119670700\n\
                load_weight slot=43, flags=152, descriptors=169, manifest=0x279ac4ae\n\
                load_prompt position=1473592, token=4277035542\n\
                next_token request=16972, sampling=1, temperature=24432, top_p=56090\n";
    let words: [u64; 4] =
        [0x0100_0000_7e57_9bac, 0x022b_98a9_279a_c4ae, 0x0316_7c38_feee_6216, 0x0442_4c01_5f70_db1a];
    let bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
    let read = commands(text.as_bytes()).unwrap();
    assert_eq!((&read.bytes, &read.problems[..]), (&bytes, &[][..]));
    let back = commands(&bytes).unwrap();
    assert_eq!((back.text.as_str(), back.words[1].word.as_str()), (text, "0x022b98a9279ac4ae"));
    // Words without a meaning keep their bits and are reported.
    let other = commands(&0xff00_0000_0000_0001_u64.to_le_bytes()).unwrap();
    assert_eq!(
        (other.problems.len(), commands(other.text.as_bytes()).unwrap().bytes),
        (1, other.bytes.clone())
    );
    assert!(
        commands(&bytes[..9])
            .unwrap_err()
            .to_string()
            .contains("the stream ends after 1 of the 8 bytes of a word")
    );
    assert!(commands(b"load_prompt position=16777216, token=0\n").is_err());
}

/// Words of specification 7.3: busy, done with a token, an error.
#[test]
fn words_of_status_are_told() {
    let words: Vec<u8> =
        [0_u64, 1, 0x0000_0005_0000_000a, 4].into_iter().flat_map(u64::to_le_bytes).collect();
    let message = (instance().host().unwrap().statuses)("s.bin", &words).unwrap();
    let texts: Vec<&str> = message.words.iter().map(|word| word.text.as_str()).collect();
    assert_eq!(texts, ["idle", "busy", "done, token 5", "error"]);
}

/// Pages and registers as in the specification's table (3.6).
#[test]
fn the_map_is_that_of_the_board() {
    let map = instance().host().unwrap().map;
    assert_eq!(map.base, 0xA000_0000);
    let offset = |page: &str, name: &str| {
        map.registers
            .iter()
            .find(|found| (found.page.as_str(), found.name.as_str()) == (page, name))
            .unwrap()
            .offset
    };
    assert_eq!([offset("npu", "COMMAND"), offset("npu", "KICK")], [0, 8]);
    for (index, page) in ["hp0", "hp1", "hp2", "hp3", "acp_fmap", "acp_result"].into_iter().enumerate() {
        let start = 0x1000 * (index as u64 + 1);
        assert_eq!(offset(page, "CMD_LO"), start);
        assert_eq!([offset(page, "STS_POP"), offset(page, "ERR_W1C")], [start + 0x10, start + 0x20]);
    }
}

fn writes(run: &HostRun) -> Vec<(u64, &str)> {
    run.accesses
        .iter()
        .filter(|access| access.is_write)
        .map(|access| (access.address, access.value.as_str()))
        .collect()
}

/// One transfer, computed with pen and paper: 12 values are two words, 32 bytes, starting at unit 4
/// of a window at the beginning of host memory.
#[test]
fn a_transfer_is_a_command_and_a_word() {
    let text =
        "memset cache=fmap, idx=63, a=2, b=3, c=2\nmemcpy host->l2, dst=0x100, src=0, aux=4, shape=63\n";
    let run = accesses(text).unwrap();
    let place = &run.places[0];
    assert_eq!((place.name.as_str(), place.address, place.bytes), ("host_to_l2.0", 0x1000_0000, 96));
    assert_eq!(
        writes(&run),
        [
            (0xA000_0000, "0x33f0002000300020"),
            // The words are: byte count with bit 23 for ascending addresses and bit 30 for the end
            // of the frame; address; tag.
            (0xA000_5000, "0x40800020"),
            (0xA000_5004, "0x10000040"),
            (0xA000_5008, "0x00000000"),
            (0xA000_500C, "0x00000001"),
            (0xA000_0000, "0x280200000000027e"),
            (0xA000_0008, "0x8000000000000000"),
        ]
    );
    let read = &run.accesses[6];
    assert_eq!(
        (read.address, read.value.as_str(), read.mask.as_deref()),
        (0xA000_5010, "0x80", Some("0xf0"))
    );
    assert_eq!((run.completions[1].access, run.completions[1].is_async), (Some(6), false));
}

/// Weights are split by rows: even rows use an engine's first port, odd rows its second.
#[test]
fn weights_are_split_by_rows() {
    let text = "memset cache=fmap, idx=0, a=1, b=1, c=40\nmemset cache=weight, idx=0, a=0, b=5, c=40\n\
                gemv dst=0x100, src=0, size=0, shape=0\ngemm dst=0x100, src=0, size=0, shape=0\n";
    let run = accesses(text).unwrap();
    // A row of 40 is two beats of 16 bytes. Three rows are even and two are odd.
    let sizes: Vec<u64> = run.places.iter().map(|place| place.bytes).collect();
    assert_eq!(sizes, [96, 64, 96, 64]);
    let commands: Vec<u64> =
        writes(&run).iter().filter(|(at, _)| at & 0xfff == 0xc).map(|(at, _)| *at).collect();
    assert_eq!(commands, [0xA000_300C, 0xA000_400C, 0xA000_100C, 0xA000_200C]);
    assert_eq!((run.completions[2].access, run.completions[3].access.is_some()), (None, true));
}

/// An instruction issued before DONE was read may raise it: then completion cannot be detected.
#[test]
fn done_tells_of_the_last_instruction_alone() {
    let first = "cvo exp, src=0, dst=0x100, len=8, async\n";
    let two = format!("{first}cvo exp, src=0x10, dst=0x200, len=8, async\n");
    let message = |text: &str| -> Vec<bool> {
        accesses(text).unwrap().completions.iter().map(|found| found.access.is_some()).collect()
    };
    assert_eq!(message(first), [true]);
    assert_eq!(message(&two), [false, false]);
    assert_eq!(message(&two.replace("\n", "\n.wait\n")), [true, true]);
}

#[test]
fn a_broken_order_has_no_accesses() {
    let text = "memset cache=fmap, idx=0, a=1, b=1, c=8\nmemcpy host->l2, dst=0, shape=0, async\n\
                cvo exp, src=0, dst=1, len=8\n";
    assert!(accesses(text).unwrap_err().to_string().contains("the async MEMCPY of instruction 1 writes"));
    assert!(accesses(&text.replace("async\n", "async\n.wait\n")).is_ok());
    // The data mover cannot reach addresses of more than 32 bits.
    let far = (instance().host().unwrap().accesses)("p.s", text.as_bytes(), u64::from(u32::MAX), &NoFiles);
    assert!(far.unwrap_err().to_string().contains("32 bits"));
    // There are more transfers than a mover's queue can hold, so the ninth transfer waits for the
    // first.
    let shape = text.lines().next().unwrap();
    let transfers = (0..20).map(|i| format!("memcpy host->l2, dst={}, shape=0, async\n", 32 * i));
    let many = format!("{shape}\n{}", transfers.collect::<String>());
    let run = accesses(&many).unwrap();
    let first_read = run.accesses.iter().position(|access| !access.is_write).unwrap();
    assert_eq!(run.accesses[first_read].instruction, Some(1));
    assert_eq!(run.accesses[first_read - 1].instruction, Some(8));
}

/// Returns a vocabulary of ten, in which the next token is the sum of all tokens.
fn sums() -> Generator {
    let mut sum = 0;
    let take = move |tokens: &[usize], begins: bool| {
        if begins {
            sum = 0;
        }
        if let Some(token) = tokens.iter().find(|token| **token > 9) {
            return Err(TargetError::failed(format!("unknown token {token}")));
        }
        sum += tokens.iter().sum::<usize>();
        let logits = (0..10).map(|token| if token == sum % 10 { 9.0 } else { 0.0 }).collect();
        Ok(Step { logits, cycles: Some(7), program: None })
    };
    Generator::new("sums".to_owned(), None, take)
}

fn answers(text: &str) -> Vec<HostAnswer> {
    let stream = commands(text.as_bytes()).unwrap();
    (instance().host().unwrap().answers)(&stream.bytes, b"123456789", &mut sums()).unwrap()
}

#[test]
fn a_device_answers_in_words_of_status() {
    let messages = answers(
        "next_token request=0\nload_weight slot=1, manifest=0xcbf43926\nload_weight slot=1, manifest=1\n\
         load_prompt position=0, token=3\nload_prompt position=1, token=4\nload_prompt position=1, token=4\n\
         next_token request=1\nnext_token request=2\nnext_token request=3, sampling=1\n\
         next_token request=3, sampling=1, temperature=1, top_p=1\nload_prompt position=5, token=70\n\
         next_token request=4\nreset_kv session=1\nload_prompt position=0, token=9\nnext_token request=5\n",
    );
    let words: Vec<&str> = messages.iter().map(|answer| answer.text.as_str()).collect();
    assert_eq!(
        words,
        [
            "error",
            "done",
            "error",
            "done",
            "done",
            "error",
            "done, token 7",
            "done, token 4",
            "error",
            "done, token 8",
            "done",
            "error",
            "done",
            "done",
            "done, token 9"
        ]
    );
    let errors: Vec<&str> = messages.iter().filter_map(|answer| answer.error.as_deref()).collect();
    let expected = [
        "no token to continue from",
        "0xcbf43926",
        "the next position is 2",
        "`temperature` is 0",
        "unknown token 70",
    ];
    assert_eq!(errors.len(), expected.len());
    for (error, expected) in errors.iter().zip(expected) {
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!((messages[6].status.as_str(), messages[6].cycles), ("0x000000070000000a", Some(7)));
}
