//! [`Foreign`]: model files of other tools, with the command that converts them to ONNX; and files
//! that are named like a model but are not one: pointers, web pages, archives.

use std::io::Cursor;

use zip::ZipArchive;

use crate::format::Format;
use crate::protobuf_fields::{self, Field, LENGTH};

/// A kind of model file that cannot be imported.
#[derive(Debug)]
pub struct Foreign {
    /// Description of the kind, with an article.
    pub what: &'static str,
    /// File name extensions of the kind.
    endings: &'static [&'static str],
    /// Whether content is of this kind.
    holds: fn(&Content<'_>) -> bool,
    /// Advice to the user, shown before the command.
    advice: &'static str,
    /// Shell command that converts such a file to ONNX.
    command: Command,
}

/// Makes the shell command that converts a file to ONNX; `None` for files without a network.
type Command = Option<fn(&Words) -> String>;

/// Content of a file; `members` are the names in it if it is a zip archive.
struct Content<'a> {
    name: &'a str,
    bytes: &'a [u8],
    members: Vec<String>,
}

/// Paths, quoted for a shell.
struct Words {
    /// Path of the file.
    file: String,
    /// Path of its folder.
    folder: String,
    /// Path of the ONNX file made from the file.
    onnx: String,
    /// Path of a folder for the exported files.
    exported: String,
    /// Path of the ONNX file made from the folder.
    folder_onnx: String,
}

/// Example input. These files do not state its shape.
const INPUT: &str = "torch.zeros(1, 3, 224, 224)";
/// First bytes of a file that `torch.save` wrote before it used zip archives.
const OLD_TORCH: &[u8] = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19";
const HDF5: &[u8] = b"\x89HDF\r\n\x1a\n";
const SAVED_MODEL: &str = "saved_model.pb";
/// First bytes of the pointer that Git LFS puts in place of a large file.
pub(crate) const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";
/// First bytes of xz, bzip2, zstd and 7z files.
const COMPRESSED: [&[u8]; 4] = [b"\xfd7zXZ\0", b"BZh", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf\x27\x1c"];

/// All kinds, one per row. The first match takes precedence.
static FOREIGN: &[Foreign] = &[
    Foreign {
        what: "a program of torch.export",
        endings: &["pt2"],
        holds: |file| file.has("serialized_exported_program.json") || file.has("models/model.json"),
        advice: "export it",
        command: Some(|words| {
            words.python(
                "torch",
                "torch.onnx.export(torch.export.load(sys.argv[1]), f=sys.argv[2], dynamo=True)",
            )
        }),
    },
    Foreign {
        what: "TorchScript",
        endings: &["torchscript"],
        holds: |file| file.has("constants.pkl"),
        advice: "export it, with the shape of its input in place of 1, 3, 224, 224",
        command: Some(|words| {
            let network = "torch.jit.load(sys.argv[1], 'cpu').eval()";
            words
                .python("torch", &format!("torch.onnx.export({network}, {INPUT}, sys.argv[2], dynamo=False)"))
        }),
    },
    Foreign {
        what: "a PyTorch file",
        endings: &["pt", "pth", "ckpt"],
        holds: |file| file.has("data.pkl") || file.bytes.starts_with(OLD_TORCH),
        advice: "weights alone (a state dict) do not describe a network: load them into yours, then torch.onnx.export. \
                 A whole network, from a source that you trust, with the shape of its input for 1, 3, 224, 224",
        command: Some(|words| {
            let network = "torch.load(sys.argv[1], 'cpu', weights_only=False).eval()";
            words.python("torch", &format!("torch.onnx.export({network}, {INPUT}, sys.argv[2])"))
        }),
    },
    Foreign {
        what: "a Keras model",
        endings: &["keras"],
        holds: |file| file.has("config.json") && file.has("model.weights.h5"),
        advice: "export it with Keras 3.8 or newer",
        command: Some(Words::keras),
    },
    Foreign {
        what: "a Keras file (HDF5)",
        endings: &["h5", "hdf5"],
        holds: |file| file.bytes.starts_with(HDF5),
        advice: "weights alone do not describe a network: load them into yours, then export. \
                 A whole network with Keras 3.8 or newer",
        command: Some(Words::keras),
    },
    Foreign {
        what: "a file of weights only (safetensors)",
        endings: &["safetensors"],
        holds: |file| is_safetensors(file.bytes),
        advice: "load them into their network, then torch.onnx.export. With a config.json of Hugging Face next to it",
        command: Some(|Words { folder, exported, .. }| {
            format!("optimum-cli export onnx --model {folder} {exported}")
        }),
    },
    Foreign {
        what: "a TensorFlow SavedModel",
        endings: &[],
        holds: |file| file.name == SAVED_MODEL && is_saved_model(file.bytes),
        advice: "export it",
        command: Some(|Words { folder, folder_onnx, .. }| {
            format!("python -m tf2onnx.convert --saved-model {folder} --output {folder_onnx}")
        }),
    },
    Foreign {
        what: "a Git LFS pointer",
        endings: &[],
        holds: |file| file.bytes.starts_with(LFS_POINTER),
        advice: "the file itself is not in the checkout: run `git lfs pull` there, or download it from the repository's page",
        command: None,
    },
    Foreign {
        what: "an HTML page",
        endings: &[],
        holds: |file| is_html(file.bytes),
        advice: "the server gave a page (a login, a license, a viewer) in the place of the file: download it by its \
                 direct address",
        command: None,
    },
    Foreign {
        what: "a llama.cpp model (GGUF)",
        endings: &["gguf"],
        holds: |file| file.bytes.starts_with(b"GGUF"),
        advice: "its weights are in llama.cpp formats: export the original network to ONNX",
        command: None,
    },
    Foreign {
        what: "an OpenVINO model",
        endings: &[],
        holds: |file| is_openvino(file.bytes),
        advice: "export the original network to ONNX",
        command: None,
    },
    Foreign {
        what: "a zip archive",
        endings: &[],
        holds: |file| file.is_called_model() && file.bytes.starts_with(b"PK\x03\x04"),
        advice: "unpack it and pass the model inside",
        command: None,
    },
    Foreign {
        what: "a gzip file",
        endings: &[],
        holds: |file| file.is_called_model() && file.bytes.starts_with(b"\x1f\x8b"),
        advice: "unpack it (gunzip, or tar -xzf for an archive) and pass the model inside",
        command: None,
    },
    Foreign {
        what: "a compressed archive (xz, bzip2, zstd or 7z)",
        endings: &[],
        holds: |file| file.is_called_model() && COMPRESSED.iter().any(|magic| file.bytes.starts_with(magic)),
        advice: "unpack it and pass the model inside",
        command: None,
    },
    Foreign {
        what: "a Python pickle",
        endings: &["pkl", "pickle"],
        holds: |file| file.is_called_model() && is_pickle(file.bytes),
        advice: "load it with the program that wrote it, and export the network to ONNX",
        command: None,
    },
    Foreign {
        what: "a NumPy array",
        endings: &[],
        holds: |file| file.bytes.starts_with(b"\x93NUMPY"),
        advice: "pass arrays with `--input`; the model must be another file",
        command: None,
    },
    Foreign {
        what: "a JSON file",
        endings: &[],
        holds: |file| file.is_called_model() && is_text(file.bytes) && begins_with(file.bytes, b"{"),
        advice: "it is not a network: pass the file of the network itself (.onnx, .pb or .tflite)",
        command: None,
    },
    Foreign {
        what: "a text",
        endings: &[],
        holds: |file| file.is_called_model() && is_text(file.bytes),
        advice: "download or export the model again; open it in an editor, as it may hold an error message such as `Not Found`",
        command: None,
    },
];

impl Foreign {
    /// Returns the kind of the file called `path` that holds `bytes`. The content decides; the
    /// extension only if the content is of no known format.
    pub fn of(path: &str, bytes: &[u8]) -> Option<&'static Self> {
        let file = Content { name: split(path).1, bytes, members: members(bytes) };
        let by_content = FOREIGN.iter().find(|foreign| (foreign.holds)(&file));
        by_content.or_else(|| Self::of_ending(path).filter(|_| Format::of(path, bytes).is_none()))
    }

    /// Returns the kind of a file called `path`, by its extension.
    pub fn of_ending(path: &str) -> Option<&'static Self> {
        let (_, ending) = split(path).1.rsplit_once('.')?;
        let ending = ending.to_ascii_lowercase();
        FOREIGN.iter().find(|foreign| foreign.endings.contains(&ending.as_str()))
    }

    /// Path of the file by which the folder `path` is recognized as a SavedModel.
    pub fn file_of_folder(path: &str) -> String {
        format!("{}/{SAVED_MODEL}", path.trim_end_matches(['/', '\\']))
    }

    /// Returns the advice to the user and, on its own line, the shell command that converts the
    /// file at `path` to ONNX. `None` if the kind does not hold an exportable network.
    pub fn export(&self, path: &str) -> Option<String> {
        Some(format!("{}:\n{}", self.advice, (self.command?)(&Words::of(path))))
    }

    /// Advice to the user.
    pub fn advice(&self) -> &'static str {
        self.advice
    }
}

impl Content<'_> {
    /// Whether the file has the extension of a model. Other files may begin like an archive by
    /// chance.
    fn is_called_model(&self) -> bool {
        let ending = self.name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        ending.is_some_and(|ending| Format::ALL.iter().any(|format| format.extension() == ending))
    }

    /// Whether the file is a zip archive with a member of that name, in any folder.
    fn has(&self, name: &str) -> bool {
        let is_it = |member: &String| {
            member.strip_suffix(name).is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
        };
        self.members.iter().any(is_it)
    }
}

/// Names of the members of a zip archive; empty for other files.
fn members(bytes: &[u8]) -> Vec<String> {
    if !bytes.starts_with(b"PK\x03\x04") {
        return Vec::new();
    }
    let archive = ZipArchive::new(Cursor::new(bytes));
    // Default: a file that only begins like a zip archive has no members.
    archive.map(|archive| archive.file_names().map(str::to_owned).collect()).unwrap_or_default()
}

/// Whether bytes begin with a 64-bit length and a JSON object of that length, which may be padded
/// with blanks. A binary program may begin with the same length and brace.
fn is_safetensors(bytes: &[u8]) -> bool {
    let Some((length, rest)) = bytes.split_first_chunk() else { return false };
    let header = usize::try_from(u64::from_le_bytes(*length)).ok().and_then(|length| rest.get(..length));
    header.is_some_and(|header| header.starts_with(b"{") && header.trim_ascii_end().ends_with(b"}"))
}

/// Whether bytes begin with `start`, ignoring blanks, the UTF-8 mark and case.
fn begins_with(bytes: &[u8], start: &[u8]) -> bool {
    // Default: without the mark, the bytes are used from the beginning.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    bytes.get(..start.len()).is_some_and(|found| found.eq_ignore_ascii_case(start))
}

fn is_html(bytes: &[u8]) -> bool {
    begins_with(bytes, b"<!doctype html") || begins_with(bytes, b"<html")
}

fn is_openvino(bytes: &[u8]) -> bool {
    // Default: a shorter file is used as a whole.
    let head = bytes.get(..512).unwrap_or(bytes);
    begins_with(head, b"<?xml") && head.windows(5).any(|tag| tag == b"<net ")
}

/// Whether bytes are a pickle of protocol 2 or later: its mark, its version, and a full stop at the
/// end.
fn is_pickle(bytes: &[u8]) -> bool {
    matches!(bytes, [0x80, 2..=5, .., b'.'])
}

/// Whether bytes are text: at least one line, without the control characters of binary files.
fn is_text(bytes: &[u8]) -> bool {
    // Default: a shorter file is used as a whole.
    let head = bytes.get(..1024).unwrap_or(bytes);
    let is_control = |byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
    // The end may cut a multi-byte character.
    let is_utf8 =
        |head: &[u8]| std::str::from_utf8(head).map_or_else(|error| error.error_len().is_none(), |_| true);
    head.len() >= 4 && is_utf8(head) && !head.iter().any(is_control)
}

/// Whether bytes are a version followed by at least one graph.
fn is_saved_model(bytes: &[u8]) -> bool {
    let is_known = |field: &Field| matches!((field.number, field.wire), (1, 0) | (2, LENGTH));
    let fields: Result<Vec<Field>, _> = protobuf_fields::fields(bytes).collect();
    fields.is_ok_and(|fields| fields.iter().all(is_known) && fields.iter().any(|field| field.number == 2))
}

impl Words {
    fn of(path: &str) -> Self {
        let (folder, name) = split(path);
        let end = name.rfind('.').filter(|&end| end > 0).map_or(path.len(), |end| folder.len() + end);
        // Default: never used, a path has its stem.
        let stem = path.get(..end).unwrap_or(path);
        let folder = match folder.trim_end_matches(['/', '\\']) {
            "" if folder.is_empty() => ".",
            "" => "/",
            folder => folder,
        };
        let folder_onnx = match split(folder).1 {
            "" | "." | ".." => "model.onnx".to_owned(),
            _ => format!("{folder}.onnx"),
        };
        let (onnx, exported) = (quoted(&format!("{stem}.onnx")), quoted(&format!("{stem}_onnx")));
        Self { file: quoted(path), folder: quoted(folder), onnx, exported, folder_onnx: quoted(&folder_onnx) }
    }

    /// Makes a command that runs a line of Python. Its arguments are the file and the ONNX file.
    fn python(&self, module: &str, line: &str) -> String {
        format!("python -c \"import sys, {module}; {line}\" {} {}", self.file, self.onnx)
    }

    fn keras(&self) -> String {
        self.python("keras", "keras.saving.load_model(sys.argv[1]).export(sys.argv[2], format='onnx')")
    }
}

/// Splits a path into its folder, with the closing separator, and its name.
fn split(path: &str) -> (&str, &str) {
    path.split_at(path.rfind(['/', '\\']).map_or(0, |end| end + 1))
}

/// Quotes a path as one shell word that no program takes for an option.
fn quoted(path: &str) -> String {
    let path = if path.starts_with('-') { format!("./{path}") } else { path.to_owned() };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,@%".contains(c);
    if !path.is_empty() && path.chars().all(is_plain) {
        return path;
    }
    format!("'{}'", path.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::io::Write;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    fn zip(names: &[&str]) -> Vec<u8> {
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        for name in names {
            let stored = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
            archive.start_file(*name, stored).unwrap();
            archive.write_all(b"x").unwrap();
        }
        archive.finish().unwrap().into_inner()
    }

    fn what(path: &str, bytes: &[u8]) -> Option<&'static str> {
        Foreign::of(path, bytes).map(|foreign| foreign.what)
    }

    #[test]
    fn the_content_counts_before_the_ending() {
        let torch = zip(&["m/data.pkl", "m/data/0", "m/version"]);
        let script = zip(&["m/data.pkl", "m/code/__torch__.py", "m/constants.pkl"]);
        let keras = zip(&["metadata.json", "config.json", "model.weights.h5"]);
        assert_eq!(what("m.onnx", &torch), Some("a PyTorch file"));
        assert_eq!(what("m.pt", &script), Some("TorchScript"));
        assert_eq!(what("m", &keras), Some("a Keras model"));
        assert_eq!(what("m.zip", &zip(&["mydata.pkl", "other/"])), None);
        assert_eq!(what("m.pth", OLD_TORCH), Some("a PyTorch file"));
        assert_eq!(what("m.bin", b"\x89HDF\r\n\x1a\n..."), Some("a Keras file (HDF5)"));
        assert_eq!(what("m.bin", b"\x02\0\0\0\0\0\0\0{}"), Some("a file of weights only (safetensors)"));
        assert_eq!(what("m.bin", b"\x04\0\0\0\0\0\0\0{}  ..."), Some("a file of weights only (safetensors)"));
        assert_eq!(what("m.bin", b"\x03\0\0\0\0\0\0\0{}"), None);
        // A binary program: two zero words, then data.
        assert_eq!(what("m.tprog", b"\0\0\0\0\0\0\0\0{\x03\0\0\0"), None);
        assert_eq!(what("m.H5", b""), Some("a Keras file (HDF5)"));
        assert_eq!(what("m.pt2", b""), Some("a program of torch.export"));
        // A version of the format and a graph in field 7: ONNX, under any file name.
        assert_eq!(what("m.pt", b"\x08\x07\x3a\x00"), None);
        // Files without a network are recognized only under the extension of a model.
        let pointer = [LFS_POINTER, b"v1\noid sha256:4d7a\nsize 9\n"].concat();
        assert_eq!(what("m.tflite", &pointer), Some("a Git LFS pointer"));
        assert_eq!(what("m.pb", b"\n <!DOCTYPE html><html>"), Some("an HTML page"));
        for (bytes, is) in [
            (&b"\x1f\x8b\x08\0\0"[..], "a gzip file"),
            (b"7z\xbc\xaf\x27\x1c\0\x04", "a compressed archive (xz, bzip2, zstd or 7z)"),
            (b"\x80\x04K\x01.", "a Python pickle"),
            (b"{\"format\": \"graph-model\"}", "a JSON file"),
            (b"404: Not Found", "a text"),
        ] {
            assert_eq!(what("m.onnx", bytes), Some(is));
            assert_eq!(what("m.words", bytes), None);
        }
        assert_eq!(what("m.onnx", &zip(&["mydata.pkl", "other/"])), Some("a zip archive"));
        assert_eq!(what("m.onnx", b"\x08\x07\x12\x07pytorch"), None);
        assert_eq!(what("m/saved_model.pb", b"\x08\x01\x12\x00"), Some("a TensorFlow SavedModel"));
        assert_eq!(what("m/saved_model.pb", b"\x08\x07\x12\x00\x3a\x00"), None);
    }

    #[test]
    fn what_begins_like_a_zip_is_no_panic() {
        let whole = zip(&["m/data.pkl"]);
        for end in 0..whole.len() {
            assert_eq!(what("m.x", &whole[..end]), None, "{end}");
        }
    }

    #[test]
    fn paths_are_single_words_of_a_shell() {
        assert_eq!(quoted("a/m-1.pt"), "a/m-1.pt");
        assert_eq!(quoted("-m.pt"), "./-m.pt");
        assert_eq!(quoted("my $HOME/it's.pt"), r"'my $HOME/it'\''s.pt'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn outputs_lie_beside_the_file() {
        let words = |path| {
            let Words { folder, onnx, exported, folder_onnx, .. } = Words::of(path);
            [folder, onnx, exported, folder_onnx]
        };
        assert_eq!(words("a.b/m.pt"), ["a.b", "a.b/m.onnx", "a.b/m_onnx", "a.b.onnx"]);
        assert_eq!(words("m"), [".", "m.onnx", "m_onnx", "model.onnx"]);
        assert_eq!(words("../.keras"), ["..", "../.keras.onnx", "../.keras_onnx", "model.onnx"]);
        assert_eq!(words("/saved_model.pb"), ["/", "/saved_model.onnx", "/saved_model_onnx", "model.onnx"]);
    }
}
