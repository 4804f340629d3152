//! Conversions of small floats, compared with `ml_dtypes` through digests that
//! `tests/small_floats.py` prints.

use npukit_numeric::{ElementType, Rounding, Sha256, SmallFloat, encode_power_of_two};

/// Name, format, digest of all codes' values, digest of the codes of many floats.
#[rustfmt::skip]
const GOLDEN: [(&str, SmallFloat, &str, &str); 10] = [
    ("F16", SmallFloat::F16, "385ff5fe69182797", "10928caca4a6919f"),
    ("BF16", SmallFloat::BF16, "f12e27efe34841df", "44ab9288b6efeb9a"),
    ("F8E4M3FN", SmallFloat::F8E4M3FN, "422eccfaa21e72a6", "e320cc7388b96635"),
    ("F8E4M3FNUZ", SmallFloat::F8E4M3FNUZ, "ac4866f772a7c080", "61e724fb746c12f4"),
    ("F8E5M2", SmallFloat::F8E5M2, "229a94c5f728edf2", "c2a86bd397e0c7be"),
    ("F8E5M2FNUZ", SmallFloat::F8E5M2FNUZ, "aac12d2730bf26ca", "1d302a7e66d67013"),
    ("F8E8M0", SmallFloat::F8E8M0, "2fb2732a95604377", "fe9858c0a57b4691"),
    ("F6E2M3", SmallFloat::F6E2M3, "178eab5d385741cf", "c50d2ee5a01f644a"),
    ("F6E3M2", SmallFloat::F6E3M2, "1f21874836838a0a", "bbd536cd227583fe"),
    ("F4E2M1", SmallFloat::F4E2M1, "c736c7e2e761e089", "57dc24a855fa83c1"),
];

fn digest(bytes: impl Iterator<Item = u8>) -> String {
    let bytes: Vec<u8> = bytes.collect();
    Sha256::digest(&bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn values_of_all_codes_are_those_of_ml_dtypes() {
    for (name, format, values, _) in GOLDEN {
        let value = |code: u32| {
            let value = format.decode(code as u16);
            if value.is_nan() { 0x7FC0_0000 } else { value.to_bits() }
        };
        assert_eq!(digest((0..format.codes()).flat_map(|code| value(code).to_le_bytes())), values, "{name}");
    }
}

/// All floats whose lower 12 bits are 0, and their neighbors.
fn floats() -> impl Iterator<Item = f32> {
    let patterns =
        (0..1 << 20).flat_map(|upper: u32| [(upper << 12).wrapping_sub(1), upper << 12, (upper << 12) + 1]);
    patterns.map(f32::from_bits).filter(|value| !value.is_nan())
}

#[test]
fn codes_of_floats_are_those_of_ml_dtypes() {
    for (name, format, _, codes) in GOLDEN {
        let code = |value: f32| {
            let code = format.encode(value, false);
            if format.decode(code).is_nan() { u16::MAX } else { code }
        };
        // Below, ml_dtypes returns neither the nearest power of two nor, out of range, the
        // standard's NaN.
        let taken = |value: &f32| format != SmallFloat::F8E8M0 || *value < 0.0 || *value >= 2f32.powi(-126);
        assert_eq!(
            digest(floats().filter(taken).flat_map(|value| code(value).to_le_bytes())),
            codes,
            "{name}"
        );
    }
}

#[test]
fn every_code_comes_back() {
    for (name, format, ..) in GOLDEN {
        for code in 0..format.codes() as u16 {
            let value = format.decode(code);
            let back = format.encode(value, true);
            let infinite = value.is_infinite() && format.decode(back).is_finite();
            assert!(value.is_nan() || back == code || infinite, "{name} {code:#x}");
            assert!(value.is_nan() || format.encode(value, false) == code, "{name} {code:#x}");
        }
    }
}

/// The table of the standard's Cast: -0, NaN, infinity and beyond the range, saturating and not.
#[test]
fn ends_are_those_of_the_standard() {
    let bits = |format: SmallFloat, value, saturate| format.encode(value, saturate);
    for (format, largest, [zero, nan, infinity]) in [
        (SmallFloat::F8E4M3FN, 0x7E, [0x80, 0x7F, 0x7F]),
        (SmallFloat::F8E4M3FNUZ, 0x7F, [0x00, 0x80, 0x80]),
        (SmallFloat::F8E5M2, 0x7B, [0x80, 0x7E, 0x7C]),
        (SmallFloat::F8E5M2FNUZ, 0x7F, [0x00, 0x80, 0x80]),
    ] {
        for saturate in [false, true] {
            assert_eq!(bits(format, -0.0, saturate), zero);
            assert_eq!(bits(format, f32::NAN, saturate), nan);
        }
        for beyond in [1e9, f32::INFINITY] {
            assert_eq!(bits(format, beyond, true), largest);
            assert_eq!(bits(format, -beyond, true), largest | 0x80);
            assert_eq!(bits(format, beyond, false), infinity);
        }
    }
}

#[test]
fn powers_of_two_round_as_told() {
    let code = |value, rounding| encode_power_of_two(value, true, rounding);
    for (value, nearest, up, down) in [
        (1.0, 127, 127, 127),
        (1.4, 127, 128, 127),
        (1.5, 128, 128, 127),
        (3.5, 129, 129, 128),
        (1e-42, 0, 0, 0),
    ] {
        assert_eq!(code(value, Rounding::Nearest), nearest, "{value}");
        assert_eq!(code(value, Rounding::Up), up, "{value}");
        assert_eq!(code(value, Rounding::Down), down, "{value}");
    }
    let ends = |saturate| {
        [0.0, f32::MAX, f32::INFINITY, f32::NAN, -1.0].map(|x| encode_power_of_two(x, saturate, Rounding::Up))
    };
    assert_eq!(ends(true), [0, 254, 254, 255, 255]);
    assert_eq!(ends(false), [255, 255, 255, 255, 255]);
}

#[test]
fn every_type_knows_its_format() {
    for element in ElementType::ALL {
        let format = element.small_float();
        assert_eq!(format.is_some(), element.is_float() && element.bits() <= 16, "{element}");
        assert!(format.is_none_or(|format| format.codes() == 1 << element.bits()), "{element}");
    }
}
