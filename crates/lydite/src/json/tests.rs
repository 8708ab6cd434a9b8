use proptest::prelude::*;

use super::*;

/// Texts of random JSON values.
pub(super) fn json_text() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|value| value.to_string()),
        (-3_i64..4).prop_map(|value| value.to_string()),
        "-?(0|[1-9][0-9]{0,3})(\\.[0-9]{1,3})?([eE][+-]?[0-9]{1,2})?",
        any::<String>().prop_map(|text| serde_json::Value::from(text).to_string()),
        "[ab]{0,3}".prop_map(|text| format!("\"{text}\"")),
    ];
    scalar.prop_recursive(4, 24, 4, |inner| {
        let members = prop::collection::btree_map("[a-d]", inner.clone(), 0..4);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(", "))),
            members.prop_map(|members| {
                let members: Vec<_> = members
                    .iter()
                    .map(|(k, v)| format!("\"{k}\": {v}"))
                    .collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

#[test]
fn reads_what_is_json() {
    let tree = parse(
        " {\"a\" : [1.50, -0, true, false, null, \"x\\n\\u00e9\\ud83d\\ude00\"], \"\" : {}}\n",
    )
    .expect("JSON");
    let expected = Json::Object(vec![
        (
            "a".into(),
            Json::Array(vec![
                Json::Number("1.50"),
                Json::Number("-0"),
                Json::Bool(true),
                Json::Bool(false),
                Json::Null,
                Json::String("x\né😀".into()),
            ]),
        ),
        ("".into(), Json::Object(Vec::new())),
    ]);
    assert_eq!(tree, expected);
    let Json::Array(items) =
        parse(r#"["plain text, long enough for eight bytes", "a\tb"]"#).expect("JSON")
    else {
        panic!("an array");
    };
    assert!(matches!(items[0], Json::String(Cow::Borrowed(_))));
    assert!(matches!(items[1], Json::String(Cow::Owned(_))));
}

#[test]
fn refuses_what_is_not_and_says_where() {
    use JsonErrorKind::*;
    // text, kind, line, column, part of the message; the last five are JSON by the grammar
    let cases = [
        ("", Empty, 1, 1, "empty"),
        (" \n ", Empty, 2, 2, "empty"),
        ("\u{feff}{}", ByteOrderMark, 1, 1, "remove"),
        (
            "{\"a\":1,}",
            UnexpectedCharacter,
            1,
            8,
            "found `}` where a key in double quotes",
        ),
        (
            "[1,]",
            UnexpectedCharacter,
            1,
            4,
            "found `]` where a JSON value",
        ),
        ("[1 2]", UnexpectedCharacter, 1, 4, "`,` or `]`"),
        ("{\"a\" 1}", UnexpectedCharacter, 1, 6, "`:`"),
        ("{\"a\":1 \"b\":2}", UnexpectedCharacter, 1, 8, "`,` or `}`"),
        ("{\"a\":NaN}", UnexpectedCharacter, 1, 6, "found `N`"),
        ("Infinity", UnexpectedCharacter, 1, 1, "found `I`"),
        ("-Infinity", UnexpectedCharacter, 1, 2, "a digit"),
        ("nul", UnexpectedEnd, 1, 4, "a JSON value"),
        ("nulL", UnexpectedCharacter, 1, 1, "a JSON value"),
        ("// x\n1", UnexpectedCharacter, 1, 1, "found `/`"),
        ("{'a':1}", UnexpectedCharacter, 1, 2, "found `'`"),
        ("01", TrailingCharacters, 1, 2, "after the JSON value"),
        ("1.", UnexpectedEnd, 1, 3, "a digit"),
        (".5", UnexpectedCharacter, 1, 1, "found `.`"),
        ("1e+", UnexpectedEnd, 1, 4, "a digit"),
        ("{\"a\":1", UnexpectedEnd, 1, 7, "`,` or `}`"),
        ("\"abc", UnexpectedEnd, 1, 5, "closing quote"),
        ("\"é\nb\"", ControlCharacter, 1, 3, "U+000A"),
        ("\"12345678\u{1}\"", ControlCharacter, 1, 10, "U+0001"),
        ("\"\\x\"", InvalidEscape, 1, 3, "found `x`"),
        ("\"\\u12g4\"", InvalidEscape, 1, 6, "hexadecimal"),
        ("\"\\u+123\"", InvalidEscape, 1, 4, "hexadecimal"),
        ("text {\"a\":1}", UnexpectedCharacter, 1, 1, "found `t`"),
        (
            "{\n  \"é\": [1,\n   x]\n}",
            UnexpectedCharacter,
            3,
            4,
            "found `x`",
        ),
        ("1 1", TrailingCharacters, 1, 3, "found `1`"),
        ("\u{a0}1", UnexpectedCharacter, 1, 1, "found"),
        ("\"\\ud800\"", LoneSurrogate, 1, 2, "half"),
        ("\"a\\ud800\\u0041\"", LoneSurrogate, 1, 3, "half"),
        ("\"\\udc00\\ud800\"", LoneSurrogate, 1, 2, "half"),
        (
            "{\"a\":1,\n\"b\":2, \"\\u0061\":3}",
            DuplicateKey,
            2,
            8,
            "the key \"a\" comes twice",
        ),
        ("{\"\":{}, \"\":{}}", DuplicateKey, 1, 9, "\"\""),
    ];
    let grammatical = [LoneSurrogate, DuplicateKey, TooDeep];
    for (text, kind, line, column, part) in cases {
        let error = parse(text).expect_err(text);
        assert_eq!(
            (error.kind, error.line, error.column),
            (kind, line, column),
            "{text:?}: {error}"
        );
        assert!(error.message.contains(part), "{text:?}: {error}");
        match is_valid(text) {
            Ok(()) => assert!(grammatical.contains(&kind), "{text:?}"),
            Err(found) => assert_eq!(found, error, "{text:?}"),
        }
    }
}

#[test]
fn depth_is_bounded_in_trees_and_free_in_checks() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(parse(&nested(MAX_DEPTH)).is_ok());
    let error = parse(&nested(MAX_DEPTH + 1)).expect_err("too deep");
    assert_eq!(
        (error.kind, error.offset),
        (JsonErrorKind::TooDeep, MAX_DEPTH)
    );
    let mixed = |depth: usize| "[{\"a\":".repeat(depth) + "1" + &"}]".repeat(depth);
    for depth in [31, 32, 33, 63, 64, 65, 500, 50_000] {
        assert!(is_valid(&mixed(depth)).is_ok(), "{depth}");
        assert!(
            is_valid(&mixed(depth).replacen("}]", "]}", 1)).is_err(),
            "{depth}"
        );
        assert!(is_valid(&"[".repeat(depth)).is_err(), "{depth}");
    }
}

#[test]
fn duplicate_keys_are_found_in_large_objects() {
    let members: Vec<_> = (0..1000).map(|n| format!("\"k{n}\":{n}")).collect();
    let text = format!("{{{}}}", members.join(","));
    assert!(parse(&text).is_ok());
    let error = parse(&text.replace("\"k999\"", "\"k500\"")).expect_err("a duplicate");
    assert_eq!(error.kind, JsonErrorKind::DuplicateKey);
    assert!(error.message.contains("k500"), "{error}");
    for text in [
        "{\"a\":1,\"b\":2,\"\\u0061\":[3]}".to_owned(),
        text.replace("\"k999\":999", "\"k0\":[3]"),
    ] {
        let Ok(Json::Object(members)) = parse_with(&text, DuplicateKeys::LastWins) else {
            panic!("{text}")
        };
        assert_eq!(members[0].1, Json::Array(vec![Json::Number("3")]));
        assert_eq!(
            members
                .iter()
                .filter(|(key, _)| *key == members[0].0)
                .count(),
            1
        );
    }
}

/// `json_validity` of langchain.md: a fence around the whole is stripped first.
#[test]
fn validity() {
    let cases = [
        ("{\"a\":1}", true),
        ("{\"a\":1,}", false),
        ("```json\n{\"a\":1}\n```", true),
        ("```\n{\"a\":1}\n```", true),
        ("  ```JSON\r\n{\"a\":1}\r\n```  \n", true),
        ("```json {\"a\":1} ```", true),
        ("```{\"a\":1}```", true),
        ("````\n\"```\"\n````", true),
        ("text {\"a\":1}", false),
        ("text\n```json\n{}\n```", false),
        ("```json\n{}\n```\n```json\n{}\n```", false),
        ("[1,2]", true),
        ("1", true),
        ("\"s\"", true),
        ("true", true),
        ("", false),
        ("``````", false),
        ("```", false),
        ("{\"a\":1", false),
        ("{\"a\":NaN}", false),
    ];
    for (text, expected) in cases {
        assert_eq!(is_valid(strip_fence(text)).is_ok(), expected, "{text:?}");
    }
}

#[test]
fn values_for_serde() {
    let text = r#"{"b":[1,-2,18446744073709551615,1.5,-0,1e400,null,true],"a":"é"}"#;
    let expected = serde_json::json!({
        "b": [1, -2, u64::MAX, 1.5, -0.0, f64::MAX, null, true], "a": "é"
    });
    assert_eq!(parse(text).expect("JSON").to_value(), expected);
}

proptest! {
    #[test]
    fn never_panics_and_agrees_with_itself(text in any::<String>()) {
        let grammatical = [JsonErrorKind::LoneSurrogate, JsonErrorKind::DuplicateKey, JsonErrorKind::TooDeep];
        match (parse(&text), is_valid(&text)) {
            (Ok(_), checked) => prop_assert!(checked.is_ok()),
            (Err(error), Ok(())) => prop_assert!(grammatical.contains(&error.kind)),
            (Err(_), Err(_)) => {}
        }
        let _ = is_valid(strip_fence(&text));
    }

    #[test]
    fn near_misses_agree_with_serde(text in json_text(), at in any::<prop::sample::Index>(), with in "[\\[\\]{}\",:0-9eE.\\\\ tn-]?") {
        let mut chars: Vec<char> = text.chars().collect();
        let at = at.index(chars.len());
        chars.splice(at..=at, with.chars());
        let text: String = chars.into_iter().collect();
        let serde = serde_json::from_str::<serde::de::IgnoredAny>(&text);
        prop_assert_eq!(is_valid(&text).is_ok(), serde.is_ok(), "{}", text);
        if let (Ok(tree), Ok(value)) = (parse(&text), serde_json::from_str::<serde_json::Value>(&text)) {
            prop_assert_eq!(tree.to_value(), value);
        }
    }

    #[test]
    fn texts_read_back_to_the_same(text in json_text()) {
        let tree = parse(&text).expect("JSON");
        for dialect in [compact, canonical] {
            let mut once = String::new();
            dialect(&tree, &mut once);
            let again = parse(&once).expect("JSON");
            prop_assert!(equal(&tree, &again, true));
            let mut twice = String::new();
            dialect(&again, &mut twice);
            prop_assert_eq!(once, twice);
        }
    }

    #[test]
    fn equal_means_no_difference_and_one_text(a in json_text(), b in json_text()) {
        for (a, b) in [(&a, &a), (&a, &b)] {
            let (a, b) = (parse(a).expect("JSON"), parse(b).expect("JSON"));
            let text = |json| {
                let mut out = String::new();
                canonical(json, &mut out);
                out
            };
            prop_assert_eq!(equal(&a, &b, true), text(&a) == text(&b));
            for ordered in [true, false] {
                prop_assert_eq!(equal(&a, &b, ordered), diff(&a, &b, ordered, 3).is_empty());
            }
            prop_assert!(!equal(&a, &b, true) || equal(&a, &b, false));
        }
    }
}
