//! Benchmark of a batch of images through the public ResNet-20 program on the zcu104, by number of
//! cores.

use divan::Bencher;
use divan::counter::ItemsCount;
use npukit::Source;
use npukit::verbs::run::{Request, run};
use npukit::{Context, InputFile, ReadError};

fn main() {
    divan::main();
}

/// Number of repetitions of the ten images.
const TIMES: usize = 4;
const IMAGES: usize = 10 * TIMES;

/// Converts lines of 32 numbers to an `.npy` file: parsing text is slow and uses one core.
fn array(text: &str) -> Vec<u8> {
    let numbers = text.split([',', '\n']).filter_map(|number| number.trim().parse::<f32>().ok());
    let data: Vec<u8> = numbers.flat_map(f32::to_le_bytes).collect();
    let shape = format!("({}, 32)", data.len() / (32 * 4));
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), &data].concat()
}

/// Counts images as items.
#[divan::bench(args = [1, 2], sample_count = 10, sample_size = 1)]
fn resnet20_on_zcu104(bencher: Bencher<'_, '_>, cores: usize) {
    let root = std::env::var("NPUKIT_SHARED")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared").to_owned());
    let folder = format!("{root}/golden/tcu/programs/resnet20v2_zcu104");
    let Ok(text) = std::fs::read_to_string(format!("{folder}/cifar_10x32.csv")) else { return };
    let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(cores).build() else { return };
    let images = array(&text.repeat(TIMES));
    let reader = move |path: &str| match path {
        "images.npy" => Ok(images.clone()),
        _ => std::fs::read(path).map_err(|error| ReadError::of(path, &error)),
    };
    let path = format!("{folder}/resnet20v2_cifar_onnx_zcu104.tmodel");
    let source = Source { path, ..Source::default() };
    let request =
        Request { source, inputs: vec![InputFile::parse("images.npy")], raw: true, ..Request::default() };
    let context = Context::new(&reader);
    bencher
        .counter(ItemsCount::new(IMAGES))
        .bench_local(|| pool.install(|| run(&request, context).map(|(report, _)| report.samples)));
}
