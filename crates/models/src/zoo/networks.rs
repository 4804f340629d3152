//! List of the networks; there is a file in `networks/` for each family.

mod decoder;
mod lenet;
mod mlp;
mod mobilenet;
mod resnet;
mod resnet_v2;
mod speech;
mod squeezenet;
mod vgg;
mod yolo;

use crate::zoo::network::Network;

/// Images of ImageNet's usual size.
const IMAGENET: &[usize] = &[1, 3, 224, 224];
/// Number of classes of ImageNet.
const IMAGENET_CLASSES: usize = 1000;

/// Standard deviation of values that are averaged over 7 by 7 pixels: accelerators add first, and
/// the sum must fit as well.
const BEFORE_MEAN: f64 = 0.3;

/// Returns all networks, small ones first.
pub fn networks() -> &'static [Network] {
    &[
        mlp::MLP,
        lenet::LENET5,
        decoder::DECODER,
        resnet_v2::RESNET20V2,
        speech::SPEECH_COMMANDS,
        squeezenet::SQUEEZENET,
        mobilenet::MOBILENET_V1,
        mobilenet::MOBILENET_V2,
        yolo::YOLOV4_TINY_192,
        yolo::YOLOV4_TINY_416,
        yolo::TINY_YOLO,
        resnet::RESNET18,
        resnet::RESNET50,
        resnet_v2::RESNET50V2,
        vgg::VGG16_FEATURES,
        vgg::VGG16,
    ]
}

/// Returns the network called `name`.
pub fn network(name: &str) -> Option<&'static Network> {
    networks().iter().find(|network| network.name == name)
}
