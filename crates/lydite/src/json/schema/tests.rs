use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::json;

use super::super::parse;
use super::super::tests::json_text;
use super::*;

const STRICT: SchemaOptions = SchemaOptions {
    strict: true,
    formats: false,
};

fn compile(schema: &Value, options: SchemaOptions) -> Schema {
    Schema::compile(schema, &BTreeMap::new(), options)
        .unwrap_or_else(|error| panic!("{schema}: {error}"))
}

/// Path and keyword of each violation.
fn found(schema: &Schema, instance: &str) -> Vec<(String, String)> {
    let instance = parse(instance).expect("JSON");
    let violations = schema.violations(&instance);
    assert_eq!(
        schema.is_valid(&instance),
        violations.is_empty(),
        "{instance}: {violations:?}"
    );
    let pair = |violation: Violation| (violation.instance_path, violation.keyword);
    violations.into_iter().map(pair).collect()
}

/// The table of `json_schema_validation`.
#[test]
fn strict_table() {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "addr": {"type": "object", "properties": {"zip": {"type": "string"}}}
        },
        "required": ["name"]
    });
    let plain = compile(&schema, SchemaOptions::default());
    let strict = compile(&schema, STRICT);
    let cases: [(&str, &[(&str, &str)], &[(&str, &str)]); 6] = [
        (r#"{"name":"a"}"#, &[], &[]),
        (r#"{"name":"a","x":1}"#, &[], &[("/x", "strict")]),
        (
            r#"{"name":"a","addr":{"zip":"1","y":2}}"#,
            &[],
            &[("/addr/y", "strict")],
        ),
        (r#"{"addr":{}}"#, &[("", "required")], &[("", "required")]),
        (r#"{"name":1}"#, &[("/name", "type")], &[("/name", "type")]),
        (
            r#"{"name":1,"x":1,"addr":{"y":{"z":1}}}"#,
            &[("/name", "type")],
            &[("/name", "type"), ("/x", "strict"), ("/addr/y", "strict")],
        ),
    ];
    for (instance, disabled, enabled) in cases {
        for (schema, expected) in [(&plain, disabled), (&strict, enabled)] {
            let found = found(schema, instance);
            let found: Vec<_> = found
                .iter()
                .map(|(path, keyword)| (&**path, &**keyword))
                .collect();
            assert_eq!(found, expected, "{instance}");
        }
    }
}

/// Schema, instance, and the extra properties strict mode finds in it.
#[test]
fn what_covers_a_property() {
    let dialects = [
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema",
    ];
    let cases = json!([
        // in-place applicators add up
        [{"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}, {"a": 1, "b": 2}, []],
        [{"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}, {"a": 1, "b": 2, "c": 3}, ["/c"]],
        [{"properties": {"a": {}}, "allOf": [{"$ref": "#/definitions/base"}], "definitions": {"base": {"properties": {"b": {}}}}}, {"a": 1, "b": 2, "c": 3}, ["/c"]],
        // branches of anyOf and oneOf count where they hold
        [{"anyOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"b": {"type": "string"}}}]}, {"a": "", "b": ""}, []],
        [{"anyOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"b": {"type": "string"}}}]}, {"a": "", "b": 1}, ["/b"]],
        [{"oneOf": [
            {"properties": {"kind": {"const": "circle"}, "r": {}}, "required": ["kind"]},
            {"properties": {"kind": {"const": "square"}, "side": {}}, "required": ["kind"]}
        ]}, {"kind": "circle", "r": 1, "side": 2}, ["/side"]],
        // conditions
        [{"properties": {"k": {}}, "if": {"properties": {"k": {"const": 1}}}, "then": {"properties": {"x": {}}}, "else": {"properties": {"y": {}}}}, {"k": 1, "x": 1, "y": 1}, ["/y"]],
        [{"properties": {"k": {}}, "if": {"properties": {"k": {"const": 1}}}, "then": {"properties": {"x": {}}}, "else": {"properties": {"y": {}}}}, {"k": 2, "x": 1, "y": 1}, ["/x"]],
        [{"properties": {"k": {}}, "if": {"properties": {"j": {"const": 1}}, "required": ["j"]}, "then": {}}, {"k": 2, "j": 1}, []],
        [{"properties": {"k": {}}, "if": {"properties": {"j": {"const": 1}}, "required": ["j"]}}, {"k": 2, "j": 1}, ["/j"]],
        // patterns and schema-valued additionalProperties cover, booleans do not
        [{"properties": {"a": {}}, "patternProperties": {"^x-": {}}}, {"a": 1, "x-b": 2, "y": 3}, ["/y"]],
        [{"patternProperties": {"^x-": {}}}, {"x-b": 2, "y": 3}, ["/y"]],
        [{"properties": {"a": {}}, "additionalProperties": {"type": "integer"}}, {"a": 1, "b": 2}, []],
        [{"properties": {"a": {}}, "additionalProperties": {}}, {"a": 1, "b": 2}, []],
        [{"properties": {"a": {}}, "additionalProperties": true}, {"a": 1, "b": 2}, ["/b"]],
        [{"properties": {"a": {}}, "allOf": [{"additionalProperties": true}]}, {"a": 1, "b": 2}, ["/b"]],
        [{"properties": {"a": {}}, "allOf": [{"additionalProperties": {"type": "integer"}}]}, {"a": 1, "b": 2}, []],
        // nothing under not, nothing where nothing is named
        [{"not": {"properties": {"a": {"const": 1}}, "required": ["a"]}}, {"b": 2}, []],
        [{"not": {"required": ["z"], "properties": {"z": {}}}, "properties": {"a": {}}}, {"a": 1, "b": 2}, ["/b"]],
        [{"type": "object"}, {"b": {"c": 1}}, []],
        [{"type": "object", "properties": {}}, {"b": 1}, []],
        [{"type": "object", "required": ["b"]}, {"b": 1, "c": 2}, []],
        [{"properties": {"free": {"type": "object"}}}, {"free": {"x": 1}}, []],
        [{"properties": {"free": true}}, {"free": {"x": 1}}, []],
        [true, {"b": 1}, []],
        // nested, through lists and maps, once an object
        [{"items": {"properties": {"a": {}}}}, [{"a": 1}, {"b": 1}], ["/1/b"]],
        [{"additionalProperties": {"properties": {"a": {}}}}, {"m": {"a": 1}, "n": {"b": 1}}, ["/n/b"]],
        [{"allOf": [{"properties": {"o": {"properties": {"a": {}}}}}, {"properties": {"o": {"properties": {"b": {}}}}}]}, {"o": {"a": 1, "b": 1, "c": 1}}, ["/o/c"]],
        [{"properties": {"o": {"properties": {"a": {}}}}, "patternProperties": {"^o": {"properties": {"b": {}}}}}, {"o": {"a": 1, "b": 1, "c": 1}}, ["/o/c"]],
        [{"properties": {"a": {}}}, {"x": {"y": {"z": 1}}}, ["/x"]],
        [{"contains": {"properties": {"id": {"const": 1}}, "required": ["id"]}}, [{"id": 1, "x": 1}, {"id": 2, "x": 1}], ["/0/x"]],
        // recursion, odd names
        [{"properties": {"next": {"$ref": "#"}, "v": {}}}, {"next": {"next": {"v": 1, "w": 1}}}, ["/next/next/w"]],
        [{"properties": {"properties": {"properties": {"not": {}}}, "$ref": {"type": "object"}}}, {"properties": {"not": 1, "x": 1}, "$ref": {"y": 1}}, ["/properties/x"]],
        [{"properties": {"a/b": {"properties": {"~": {}}}}}, {"a/b": {"~": 1, "/": 2}, "": 0}, ["/a~1b/~1", "/"]],
        // an optional object, the usual way
        [{"properties": {"o": {"anyOf": [{"$ref": "#/definitions/o"}, {"type": "null"}]}}, "definitions": {"o": {"properties": {"a": {}}}}}, {"o": {"a": 1, "b": 1}}, ["/o/b"]],
        [{"properties": {"o": {"anyOf": [{}, {"properties": {"a": {}}}]}}}, {"o": {"z": 1}}, ["/o/z"]]
    ]);
    for case in cases.as_array().expect("cases") {
        let expected: BTreeSet<_> = case[2]
            .as_array()
            .expect("paths")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let instance = case[1].to_string();
        for dialect in dialects {
            let mut schema = case[0].clone();
            if let Value::Object(schema) = &mut schema {
                schema.insert("$schema".into(), dialect.into());
            }
            let violations = found(&compile(&schema, STRICT), &instance);
            assert!(
                violations.iter().all(|(_, keyword)| keyword == "strict"),
                "{schema} {violations:?}"
            );
            let paths: BTreeSet<_> = violations.iter().map(|(path, _)| &**path).collect();
            assert_eq!(paths, expected, "{schema} {instance}");
        }
    }
}

#[test]
fn what_covers_a_property_in_newer_drafts() {
    let documents = BTreeMap::from([(
        "https://example.com/tree".to_owned(),
        json!({"$id": "https://example.com/tree", "$dynamicAnchor": "node", "properties": {"v": {}, "kids": {"items": {"$dynamicRef": "#node"}}}}),
    )]);
    let cases = json!([
        [{"$ref": "#/$defs/base", "properties": {"own": {}}, "$defs": {"base": {"properties": {"a": {}}}}}, {"own": 1, "a": 2, "x": 3}, ["/x"]],
        [{"properties": {"a": {}}, "dependentSchemas": {"a": {"properties": {"b": {}}}}}, {"a": 1, "b": 2}, []],
        [{"properties": {"a": {}}, "dependentSchemas": {"a": {"properties": {"b": {}}}}}, {"b": 2}, ["/b"]],
        [{"properties": {"a": {}}, "unevaluatedProperties": {"type": "integer"}}, {"a": 1, "b": 2}, []],
        [{"properties": {"a": {}}, "unevaluatedProperties": true}, {"a": 1, "b": 2}, ["/b"]],
        [{"prefixItems": [{"properties": {"a": {}}}], "items": {"properties": {"b": {}}}}, [{"a": 1, "b": 1}, {"a": 1, "b": 1}], ["/0/b", "/1/a"]],
        [{"prefixItems": [true], "unevaluatedItems": {"properties": {"b": {}}}}, [{"a": 1}, {"a": 1}], ["/1/a"]],
        [{"$ref": "#there", "$defs": {"x": {"$anchor": "there", "properties": {"a": {}}}}}, {"b": 1}, ["/b"]],
        // the empty map stands in an embedded resource
        [{"$id": "https://example.com/root", "$ref": "inner", "$defs": {"x": {"$id": "inner", "properties": {}}}}, {"b": 1}, []],
        [{"$id": "https://example.com/strict-tree", "$dynamicAnchor": "node", "$ref": "tree", "properties": {"extra": {}}}, {"v": 1, "extra": 1, "kids": [{"extra": 1, "v": 2, "w": 3}]}, ["/kids/0/w"]],
        [{"$ref": "https://example.com/tree"}, {"v": 1, "extra": 1, "kids": [{"extra": 1}]}, ["/extra", "/kids/0/extra"]]
    ]);
    for case in cases.as_array().expect("cases") {
        let schema = Schema::compile(&case[0], &documents, STRICT).expect("a schema");
        let expected: BTreeSet<_> = case[2]
            .as_array()
            .expect("paths")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let violations = found(&schema, &case[1].to_string());
        let paths: BTreeSet<_> = violations.iter().map(|(path, _)| &**path).collect();
        assert_eq!(paths, expected, "{} {}", case[0], case[1]);
    }
}

/// pf-json-12 to 17, and numbers and documents beyond them.
#[test]
fn validation_others_get_wrong() {
    let cases = json!([
        [{"type": "object", "example": {"a": 1}, "x-order": [1]}, "{\"a\":1}", true],
        [{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "array", "prefixItems": [{"type": "integer"}], "items": false}, "[\"x\"]", false],
        [{"$id": "https://x/y", "type": "object"}, "{}", true],
        [{"$id": "https://x/y", "type": "object"}, "[]", false],
        [false, "{\"a\":1}", false],
        [true, "{\"a\":1}", true],
        [{"properties": {"id": {"const": 9_007_199_254_740_993_u64}}}, "{\"id\":9007199254740992}", false],
        [{"properties": {"id": {"const": 9_007_199_254_740_993_u64}}}, "{\"id\":9007199254740993.0}", true],
        [{"multipleOf": 0.01}, "19.99", true],
        [{"multipleOf": 0.01}, "19.995", false],
        [{"enum": [1, "a", {"b": [null]}]}, "1.0", true],
        [{"enum": [1, "a", {"b": [null]}]}, "{\"b\":[null]}", true],
        [{"enum": [1, "a", {"b": [null]}]}, "true", false],
        [{"const": 18_446_744_073_709_551_615_u64}, "1.8446744073709551615e19", true],
        [{"const": 18_446_744_073_709_551_615_u64}, "18446744073709551616", false],
        [{"maximum": 9_007_199_254_740_992_u64}, "9007199254740993.0", false],
        [{"const": 0.1}, "0.10", true],
        [{"const": 0}, "-0", true],
        [{"type": "integer"}, "1.0", true],
        [{"type": "integer"}, "1e400", true],
        [{"type": "integer"}, "1.5", false],
        [{"maximum": 18_446_744_073_709_551_615_u64}, "18446744073709551616", false],
        [{"maximum": 5}, "1e400", false],
        [{"minimum": 5}, "-1e400", false],
        [{"uniqueItems": true}, "[1,1.0]", false],
        [{"uniqueItems": true}, "[9007199254740992,9007199254740993,true]", true],
        [{"uniqueItems": true}, "[{\"a\":1,\"b\":2},{\"b\":2,\"a\":1}]", false],
        [{"minLength": 2, "maxLength": 3}, "\"😀😀😀\"", true],
        [{"maxLength": 3}, "\"éééé\"", false],
        [{"propertyNames": {"pattern": "^[a-z]+$"}}, "{\"A\":1}", false],
        [{"format": "date"}, "\"not a date\"", true],
        [{"format": "what-is-this"}, "\"x\"", true]
    ]);
    for case in cases.as_array().expect("cases") {
        let instance = parse(case[1].as_str().expect("text")).expect("JSON");
        for options in [SchemaOptions::default(), STRICT] {
            let schema = compile(&case[0], options);
            assert_eq!(schema.is_valid(&instance), case[2] == true, "{case}");
            assert_eq!(
                schema.violations(&instance).is_empty(),
                case[2] == true,
                "{case}"
            );
        }
    }
    let formats = SchemaOptions {
        formats: true,
        ..Default::default()
    };
    for dialect in [
        "http://json-schema.org/draft-04/schema#",
        "https://json-schema.org/draft/2020-12/schema",
    ] {
        let schema = compile(&json!({"$schema": dialect, "format": "ipv4"}), formats);
        assert_eq!(
            found(&schema, "\"1.2.3\""),
            [(String::new(), "format".to_owned())]
        );
        assert_eq!(found(&schema, "\"1.2.3.4\""), []);
    }
}

#[test]
fn references_go_to_given_documents_only() {
    let documents = BTreeMap::from([
        (
            "https://example.com/name".to_owned(),
            json!({"type": "string", "minLength": 2}),
        ),
        (
            "other.json".to_owned(),
            json!({"$ref": "https://example.com/name"}),
        ),
        (
            "https://example.com/dialect".to_owned(),
            json!({
                "$id": "https://example.com/dialect",
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "$vocabulary": {"https://json-schema.org/draft/2020-12/vocab/core": true, "https://json-schema.org/draft/2020-12/vocab/applicator": true}
            }),
        ),
    ]);
    let schema = json!({"properties": {"a": {"$ref": "https://example.com/name"}, "b": {"$ref": "other.json"}}});
    let schema = Schema::compile(&schema, &documents, STRICT).expect("a schema");
    assert_eq!(found(&schema, r#"{"a":"ab","b":"ab"}"#), []);
    let paths = [
        ("/a".to_owned(), "minLength".to_owned()),
        ("/b".to_owned(), "type".to_owned()),
        ("/c".to_owned(), "strict".to_owned()),
    ];
    assert_eq!(found(&schema, r#"{"a":"x","b":1,"c":1}"#), paths);
    let schema =
        json!({"$schema": "https://example.com/dialect", "properties": {"a": {"type": "string"}}});
    let schema = Schema::compile(&schema, &documents, STRICT).expect("a schema");
    assert_eq!(
        found(&schema, r#"{"a":1}"#),
        [],
        "type is in none of its vocabularies"
    );
    assert_eq!(
        found(&schema, r#"{"b":1}"#),
        [("/b".to_owned(), "strict".to_owned())]
    );
}

#[test]
fn schemas_that_cannot_be_used_say_where_and_why() {
    let documents = BTreeMap::from([("a.json".to_owned(), json!({"$ref": "#/nowhere"}))]);
    let cases = json!([
        [{"properties": {"a": {"type": "strng"}}}, "/properties/a/type", "strng"],
        [{"properties": {"a": {"pattern": "(("}}}, "/properties/a/pattern", "regex"],
        [{"properties": {"a/b": {"$ref": "#/$defs/no"}}}, "/properties/a~1b/$ref", "/$defs/no"],
        [{"items": {"$ref": "https://example.com/no#/x"}}, "/items/$ref", "nothing is fetched"],
        [{"items": {"$ref": "no.json"}}, "/items/$ref", "no.json"],
        [{"allOf": [true, {"$ref": "#anchor"}]}, "/allOf/1/$ref", "anchor"],
        [{"$ref": "a.json"}, "", "/nowhere"],
        [{"$schema": "https://example.com/mine"}, "/$schema", "not known"],
        [{"$schema": "http://json-schema.org/draft-03/schema#"}, "/$schema", "not known"],
        [{"$schema": 7}, "/$schema", "not a URI"],
        [3, "", "3"],
        [{"$id": "::"}, "", "::"]
    ]);
    for case in cases.as_array().expect("cases") {
        for options in [SchemaOptions::default(), STRICT] {
            let error = Schema::compile(&case[0], &documents, options).expect_err("unusable");
            assert_eq!(error.pointer, case[1], "{case}: {error}");
            assert!(
                error.message.contains(case[2].as_str().expect("text")),
                "{case}: {error}"
            );
        }
    }
}

#[test]
fn long_messages_are_cut() {
    let schema = compile(
        &json!({"anyOf": [{"type": "null"}]}),
        SchemaOptions::default(),
    );
    let text = format!("\"{}\"", "é".repeat(2000));
    let violations = schema.violations(&parse(&text).expect("JSON"));
    assert!(violations[0].message.chars().count() < 250);
    assert!(violations[0].message.contains('…'));
}

/// Random schemas of the keywords that matter to strict mode.
fn schemas() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({})),
        Just(json!(true)),
        Just(json!({"type": "object"})),
        Just(json!({"type": ["object", "null"], "required": ["a"]})),
        Just(json!({"type": "null"})),
        Just(json!({"type": ["number", "string", "boolean"]})),
        Just(json!({"enum": [1, "a", null]})),
        Just(json!({"$ref": "#/$defs/d"})),
        Just(json!({"$ref": "#"})),
    ];
    let schema = leaf.prop_recursive(4, 32, 4, |inner| {
        let map = prop::collection::btree_map("[a-d]", inner.clone(), 0..3);
        let list = prop::collection::vec(inner.clone(), 1..3);
        prop_oneof![
            4 => map.clone().prop_map(|map| json!({"properties": map})),
            1 => (map.clone(), any::<bool>()).prop_map(|(map, open)| json!({"properties": map, "additionalProperties": open})),
            1 => (map.clone(), inner.clone()).prop_map(|(map, more)| json!({"properties": map, "additionalProperties": more})),
            1 => (map.clone(), inner.clone()).prop_map(|(map, all)| json!({"properties": map, "allOf": [all]})),
            2 => inner.clone().prop_map(|items| json!({"items": items})),
            1 => list.clone().prop_map(|list| json!({"allOf": list})),
            2 => list.clone().prop_map(|list| json!({"anyOf": list})),
            2 => list.prop_map(|list| json!({"oneOf": list})),
            1 => (map, inner.clone()).prop_map(|(map, not)| json!({"properties": map, "not": not})),
            1 => (inner.clone(), inner.clone(), inner).prop_map(|(a, b, c)| json!({"if": a, "then": b, "else": c})),
        ]
    });
    (schema.clone(), schema).prop_map(|(mut root, definition)| {
        if let Value::Object(root) = &mut root {
            root.insert("$defs".into(), json!({"d": definition}));
        }
        root
    })
}

/// Strict mode by its definition, for the keywords of [`schemas`]: the objects whose properties are
/// named, and the properties covered, where the schema holds; `None` where it does not.
#[derive(Default)]
struct Marks {
    naming: BTreeSet<String>,
    covered: BTreeSet<String>,
}

fn marks(root: &Value, schema: &Value, value: &Value, path: &str, fuel: usize) -> Option<Marks> {
    let Value::Object(schema) = schema else {
        return (schema == true).then(Marks::default);
    };
    // A reference that comes back to its place without going deeper holds.
    let Some(fuel) = fuel.checked_sub(1) else {
        return Some(Marks::default());
    };
    let mut out = Marks::default();
    let mut add = |marks: Marks| {
        out.naming.extend(marks.naming);
        out.covered.extend(marks.covered);
    };
    let below = |schema: &Value, value: &Value, key: &str| {
        let path = format!("{path}/{key}");
        let mut marks = marks(root, schema, value, &path, 40)?;
        marks.covered.insert(path);
        Some(marks)
    };
    let here = |schema: &Value| marks(root, schema, value, path, fuel);
    let null = Value::Null;
    let has_type = |name: &str| match name {
        "object" => value.is_object(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        other => panic!("{other}"),
    };
    for (keyword, argument) in schema {
        let list = || argument.as_array().expect("a list").iter();
        match &**keyword {
            "type" => match argument {
                Value::String(name) => has_type(name).then_some(())?,
                _ => list()
                    .any(|name| has_type(name.as_str().expect("a name")))
                    .then_some(())?,
            },
            "enum" => list().any(|expected| expected == value).then_some(())?,
            "required" => {
                let has = |key: &Value| value.get(key.as_str().expect("a key")).is_some();
                (!value.is_object() || list().all(has)).then_some(())?;
            }
            "properties" => {
                let Value::Object(members) = value else {
                    continue;
                };
                let named = argument.as_object().expect("a map");
                if !named.is_empty() {
                    add(Marks {
                        naming: [path.to_owned()].into(),
                        ..Default::default()
                    });
                }
                for (key, value) in members {
                    if let Some(schema) = named.get(key) {
                        add(below(schema, value, key)?);
                    }
                }
            }
            "additionalProperties" => {
                let Value::Object(members) = value else {
                    continue;
                };
                let named = schema.get("properties").unwrap_or(&null);
                for (key, value) in members.iter().filter(|(key, _)| named.get(key).is_none()) {
                    let marks = below(argument, value, key)?;
                    if argument.is_object() {
                        add(marks);
                    }
                }
            }
            "items" => {
                let items = value.as_array().into_iter().flatten().enumerate();
                for (index, item) in items {
                    add(below(argument, item, &index.to_string())?);
                }
            }
            "allOf" => list().try_for_each(|schema| here(schema).map(&mut add))?,
            "anyOf" => {
                let holding: Vec<_> = list().filter_map(here).collect();
                (!holding.is_empty()).then_some(())?;
                holding.into_iter().for_each(&mut add);
            }
            "oneOf" => {
                let mut holding: Vec<_> = list().filter_map(here).collect();
                let only = holding.pop().filter(|_| holding.is_empty())?;
                add(only);
            }
            "not" => here(argument).is_none().then_some(())?,
            "if" => {
                let branch = match here(argument) {
                    Some(marks) => {
                        add(marks);
                        "then"
                    }
                    None => "else",
                };
                add(here(&schema[branch])?);
            }
            "$ref" => {
                let target = if argument == "#" {
                    root
                } else {
                    &root["$defs"]["d"]
                };
                add(here(target)?);
            }
            "then" | "else" | "$defs" => {}
            other => panic!("{other}"),
        }
    }
    Some(out)
}

fn extra(marks: &Marks, value: &Value, path: &str, out: &mut BTreeSet<String>) {
    let mut child = |key: &str, value: &Value, judged: bool| {
        let path = format!("{path}/{key}");
        if judged && !marks.covered.contains(&path) {
            out.insert(path);
        } else {
            extra(marks, value, &path, out);
        }
    };
    match value {
        Value::Object(members) => {
            let judged = marks.naming.contains(path);
            members
                .iter()
                .for_each(|(key, value)| child(key, value, judged));
        }
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, value)| child(&index.to_string(), value, false));
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn strict_mode_is_as_defined(schema in schemas(), text in json_text()) {
        let instance = parse(&text).expect("JSON");
        let value = instance.to_value();
        let strict = compile(&schema, STRICT);
        let violations = strict.violations(&instance);
        prop_assert_eq!(strict.is_valid(&instance), violations.is_empty(), "{} {} {:?}", schema, text, violations);
        // References that go round in place are no business of this oracle.
        let loops = schema.to_string().contains("\"#\"") || schema["$defs"].to_string().contains("#/$defs/d");
        if !loops {
            let marks = marks(&schema, &schema, &value, "", 40);
            prop_assert_eq!(marks.is_some(), strict.plain.is_valid(&instance), "{} {}", schema, text);
            if let Some(marks) = marks {
                let mut expected = BTreeSet::new();
                extra(&marks, &value, "", &mut expected);
                let found: BTreeSet<_> = violations.into_iter().map(|violation| violation.instance_path).collect();
                prop_assert_eq!(found, expected, "{} {}", schema, text);
            }
        }
    }

    #[test]
    fn schemas_that_are_closed_accept_what_a_walk_accepts(schema in schemas(), text in json_text()) {
        let instance = parse(&text).expect("JSON");
        let strict = compile(&schema, STRICT);
        let parts = strict.strict.as_ref().expect("strict");
        if let Some(closed) = &parts.closed {
            let extra = strict::extra_properties(&strict.plain, &parts.schemas, &instance);
            let walked = strict.plain.is_valid(&instance) && extra.is_empty();
            prop_assert_eq!(closed.is_valid(&instance), walked, "{} {}", schema, text);
        }
    }
}
