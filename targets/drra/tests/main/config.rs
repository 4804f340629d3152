//! Architectures that are refused, with their messages.

use npukit_drra::Revision;
use npukit_drra::internals::config::{PRESETS, from_json, preset, to_json};
use serde_json::{Value, json};

fn arch() -> Value {
    serde_json::from_str(include_str!("../../configs/3x2.json")).unwrap()
}

fn message(change: impl FnOnce(&mut Value)) -> String {
    let mut arch = arch();
    change(&mut arch);
    from_json(&arch.to_string()).unwrap_err().to_string()
}

#[test]
fn faults_name_the_cell() {
    let lists = |a: &mut Value, list: Value| a["cells"][1]["resource_list"] = list;
    let cases: [(&str, String); 13] = [
        (
            "is placed at (3, 0), but the fabric has 3 rows",
            message(|a| {
                a["fabric"]["cells_list"][0]["coordinates"][0]["row"] = json!(3);
            }),
        ),
        (
            "cells `mid` and `btm` are both placed at (1, 1)",
            message(|a| {
                a["fabric"]["cells_list"][2]["coordinates"][1]["row"] = json!(1);
            }),
        ),
        (
            "no cell is placed at (2, 1)",
            message(|a| {
                a["fabric"]["cells_list"][2]["coordinates"] = json!([{"row": 2, "col": 0}]);
            }),
        ),
        ("cell `mid`: unknown resource `fpu`", message(|a| lists(a, json!(["swb_inst", "fpu"])))),
        (
            "cell `mid`: resource `iosram_btm` would take slots 13 to 16",
            message(|a| {
                lists(
                    a,
                    json!([
                        "swb_inst",
                        "iosram_btm_inst",
                        "iosram_btm_inst",
                        "iosram_btm_inst",
                        "iosram_btm_inst"
                    ]),
                );
            }),
        ),
        (
            "cell `mid` of kind cell_mid has no port to the input buffer, which `iosram_top` needs",
            message(|a| {
                lists(a, json!(["swb_inst", "iosram_top_inst"]));
            }),
        ),
        ("cell `mid`: slot 1 holds a swb", message(|a| lists(a, json!(["rf_inst", "swb_inst"])))),
        (
            "resource `dpu_inst` has size 1; a dpu takes 2 slots",
            message(|a| a["resources"][2]["size"] = json!(1)),
        ),
        ("resource `rf_inst` is defined twice", message(|a| a["resources"][2]["name"] = json!("rf_inst"))),
        ("cell `top`: unknown cell kind `cell_tip`", message(|a| a["cells"][0]["kind"] = json!("cell_tip"))),
        (
            "ROWS is 4 according to the fabric and",
            message(|a| {
                a["fabric"]["custom_properties"][3]["value"] = json!(4);
            })
            .replace(
                "fabric: parameter ROWS is 3 according to height and 4 according to the fabric",
                "ROWS is 4 according to the fabric and",
            ),
        ),
        ("platform is `dimarch`", message(|a| a["platform"] = json!("dimarch"))),
        (
            "RF_DEPTH is 0; legal are 16 to 65536",
            message(|a| {
                a["resources"][1]["custom_properties"] = json!([{"name": "RF_DEPTH", "value": 0}]);
            }),
        ),
    ];
    for (expected, found) in cases {
        assert!(found.contains(expected), "{expected}\n{found}");
    }
}

#[test]
fn parameters_come_from_the_nearest() {
    let mut arch = arch();
    arch["resources"][1]["custom_properties"] = json!([{"name": "RF_DEPTH", "value": 128}]);
    arch["cells"][1]["resource_list"][2] =
        json!({"name": "rf_inst", "custom_properties": [{"name": "RF_DEPTH", "value": 32}]});
    arch["options"] = json!({"call_skew": 1, "extensions": true});
    let fabric = from_json(&arch.to_string()).unwrap();
    let rows: Vec<usize> = fabric.cells[2].resources.iter().map(|part| part.rows).collect();
    assert_eq!(rows, [0, 8, 2, 8, 0]);
    assert!(fabric.options.extensions && fabric.options.call_skew == 1 && !fabric.options.strict);
    let conflict = {
        arch["fabric"]["custom_properties"][0] = json!({"name": "RF_DEPTH", "value": 64});
        from_json(&arch.to_string()).unwrap_err().to_string()
    };
    let message = "cell `mid`, slot 1: parameter RF_DEPTH is 128 according to resource `rf_inst` and 64 according to the fabric";
    assert_eq!(conflict, message);
}

#[test]
fn instruction_memories_are_as_large_as_their_addresses() {
    let mut arch = arch();
    arch["fabric"]["custom_properties"][6]["value"] = json!(6);
    assert_eq!(from_json(&arch.to_string()).unwrap().cells[0].iram_words, 64);
    assert_eq!(preset("3x2").unwrap().cells[0].iram_words, 256);
}

#[test]
fn huge_fabrics_are_refused() {
    let error = message(|a| a["fabric"]["height"] = json!(u64::MAX));
    assert!(error.contains("ROWS"), "{error}");
    let error = message(|a| {
        a["fabric"]["custom_properties"] = json!([]);
        a["fabric"]["height"] = json!(257);
    });
    assert!(error.contains("257; legal are 1 to 256"), "{error}");
}

#[test]
fn elaborated_architectures_are_the_same_fabrics() {
    for (name, _, _) in PRESETS {
        let mut fabric = preset(name).unwrap().of_revision(Revision::Later);
        fabric.options.call_skew = 3;
        fabric.cells[0].iram_words = 7;
        assert_eq!(from_json(&to_json(&fabric).to_string()), Ok(fabric));
    }
}

/// Changes the second register file of cell (1, 0).
fn part(arch: &mut Value, key: &str, value: Value) {
    arch["cells"][2]["cell"]["resources_list"][2][key] = value;
}

#[test]
fn faults_of_elaborated_architectures_name_the_cell_in_its_place() {
    let message = |change: fn(&mut Value)| {
        let mut arch = to_json(&preset("3x2").unwrap());
        change(&mut arch);
        from_json(&arch.to_string()).unwrap_err().to_string()
    };
    let cases: [(&str, String); 8] = [
        ("ROWS is 0; legal are 1 to 256", message(|a| a["parameters"] = json!({ "COLS": 2 }))),
        (
            "cells `top` and `mid` are both placed at (0, 0)",
            message(|a| a["cells"][2]["coordinates"] = json!({"row": 0, "col": 0})),
        ),
        ("cell `mid` is placed at (9, 0)", message(|a| a["cells"][2]["coordinates"]["row"] = json!(9))),
        ("no cell is placed at (2, 1)", message(|a| drop(a["cells"].as_array_mut().unwrap().pop()))),
        (
            "cell `mid (1, 0)`: resource `rf` is in slot 1, which is taken; the first free slot is 2",
            message(|a| part(a, "slot", json!(1))),
        ),
        ("cell `mid (1, 0)`: unknown resource kind `fpu`", message(|a| part(a, "kind", json!("fpu")))),
        (
            "cell `mid (1, 0)`, slot 2: RF_DEPTH is 8",
            message(|a| part(a, "parameters", json!({"RF_DEPTH": 8}))),
        ),
        (
            "cell `top (0, 0)` of kind cell_top has no port to the input buffer",
            message(|a| a["cells"][0]["cell"]["io_input"] = json!(false)),
        ),
    ];
    for (expected, found) in cases {
        assert!(found.contains(expected), "{expected}: {found}");
    }
}
