//! Explanations of findings: `npu lint --explain`.

use npukit::Error;
use npukit::verbs::lint::explain;

#[test]
fn a_code_is_explained_for_each_target_that_has_it() {
    let of = |code: &str, only| -> Vec<Option<&str>> {
        explain(code, only).unwrap().lints.iter().map(|one| one.target).collect()
    };
    assert_eq!(of("lost-addition", None), [Some("tcu")]);
    assert_eq!(of("Dead-Configuration ", None), [Some("tcu"), Some("opu"), Some("pccx")]);
    assert_eq!(of("dead-configuration", Some("opu:default,x=1")), [Some("opu")]);
    assert_eq!(of("unused-allow", Some("drra")), [None]);
}

#[test]
fn the_nearest_codes_are_told() {
    let near = |code| match explain(code, None) {
        Err(Error::UnknownFinding { near, .. }) => near,
        other => panic!("{other:?}"),
    };
    assert_eq!(near("lost-adition")[0], "lost-addition");
    assert!(near("lost-adition").len() <= 3);
    assert!(near("hovercraft").len() > 50);
    assert!(explain("lost-addition", Some("opu")).is_err());
    assert!(matches!(explain("lost-addition", Some("gpu")), Err(Error::UnknownTarget { .. })));
}
