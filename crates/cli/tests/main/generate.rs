//! Files of `npu generate`.

use std::fs;
use std::io::Write;
use std::process::{Output, Stdio};

use npukit_shared::{needs, shared};

use crate::npu::{Npu, command};

/// Template of conversations for a model that does not have one.
const TEMPLATE: &str = "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}";

/// Creates a folder with a small language model in `m`.
fn model() -> Npu {
    let npu = Npu::new();
    fs::create_dir(npu.path("m")).unwrap();
    for file in fs::read_dir(shared("golden/llm/tiny/qwen3")).unwrap() {
        let file = file.unwrap();
        npu.write(&format!("m/{}", file.file_name().to_str().unwrap()), fs::read(file.path()).unwrap());
    }
    npu.write("m/chat_template.jinja", TEMPLATE);
    npu
}

/// Runs a conversation with one message.
fn converse(npu: &Npu, message: &str) -> Output {
    let arguments = ["generate", "--model", "m", "--chat", "--tokens", "3", "--keep", "chat.kept"];
    let mut command = command(&npu.path(""));
    let piped = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = piped.spawn().unwrap();
    running.stdin.take().unwrap().write_all(message.as_bytes()).unwrap();
    running.wait_with_output().unwrap()
}

/// The option names a file that the command reads and then writes.
#[needs(NPUKIT_SHARED)]
#[test]
fn a_kept_text_is_written_and_continued() {
    let npu = model();
    let arguments = ["generate", "The sky", "--model", "m", "--tokens", "3", "--keep", "text.kept"];
    let ran = [npu.run(&arguments), npu.run(&arguments), converse(&npu, "Hi"), converse(&npu, "Bye")];
    let texts = ran.map(|output| {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    });
    for (text, file) in texts.iter().zip(["text.kept", "text.kept", "chat.kept", "chat.kept"]) {
        assert!(text.ends_with(&format!("wrote {file}\n")), "{text}");
    }
    // The second run of each finds the tokens of the first.
    let [text, same_text, chat, longer_chat] = &texts;
    assert!(!text.contains(" of them kept") && same_text.contains(" of them kept"), "{same_text}");
    assert!(
        chat.contains(" 0 of them reused") && !longer_chat.contains(" 0 of them reused"),
        "{longer_chat}"
    );
}

/// Float has no program, and no time of a machine.
#[test]
fn outputs_of_a_machine_need_a_target() {
    for option in [&["-o", "program"][..], &["--profile"]] {
        let output = Npu::new().run(&[&["generate", "1+1="][..], option].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("--target <TARGET>"), "{output:?}");
    }
}

/// Other inputs stay as they are.
#[needs(NPUKIT_SHARED)]
#[test]
fn a_kept_text_does_not_replace_the_model() {
    let npu = model();
    let before = fs::read(npu.path("m/config.json")).unwrap();
    let arguments = ["generate", "The sky", "--model", "m", "--tokens", "3", "--keep", "m/config.json"];
    assert!(!npu.run(&arguments).status.success());
    assert_eq!(fs::read(npu.path("m/config.json")).unwrap(), before);
}
