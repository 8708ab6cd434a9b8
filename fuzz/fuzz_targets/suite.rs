//! Text as YAML, and as a suite: a suite, or errors that each lie in the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lydite::node::Node;
use lydite::suite::Suite;
use lydite_fuzz::{REGISTRY, assert_within};

fuzz_target!(|text: &str| {
    let node = Node::parse(text);
    match &node {
        Ok(node) => {
            node.walk(&mut |_, node| assert_within(text, node.span));
            let value = node.to_json();
            assert_eq!(
                Node::from_json(&value).to_json(),
                value,
                "a tree does not survive JSON"
            );
        }
        Err(error) => assert_within(text, error.span),
    }
    match Suite::parse(text, "suite.yaml", &REGISTRY) {
        Ok(_) => assert!(node.is_ok(), "a suite was read from what is not YAML"),
        Err(errors) => {
            assert!(!errors.0.is_empty(), "a suite was refused without a reason");
            for error in &errors.0 {
                assert_within(&error.source.text, error.span);
                assert!(!error.to_string().is_empty());
            }
        }
    }
});
