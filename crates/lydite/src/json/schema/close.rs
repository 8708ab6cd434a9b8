//! Strict mode at the price of plain validation: a schema under which every object of an instance
//! has exactly one schema that can name its properties is closed beforehand, by giving that schema
//! `additionalProperties: false`. This covers what schemas for structured output look like: nested
//! properties and items, `$ref` to a definition, one optional alternative beside scalars.

use jsonschema::Draft;
use serde_json::{Map, Value};

/// The schema that accepts what strict mode accepts, or `None` where only a walk can tell.
pub(super) fn closed(schema: &Value, draft: Draft) -> Option<Value> {
    let closer = Closer {
        refs_stand_alone: matches!(draft, Draft::Draft4 | Draft::Draft6 | Draft::Draft7),
    };
    let mut root = schema.clone();
    closer.close_but(&mut root, &["$schema", "$id", "id"])?;
    Some(root)
}

/// What a schema says about objects and arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// That there are none: it only accepts scalars.
    Scalar,
    /// Nothing about what is inside.
    Surface,
    /// Something about what is inside, or it may: then it must be the only one.
    Inside,
}

struct Closer {
    /// A `$ref` silences the keywords beside it (up to draft 7).
    refs_stand_alone: bool,
}

/// Keywords with a reach that is not followed here.
const TOO_MUCH: &[&str] = &[
    "$anchor",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$recursiveAnchor",
    "$recursiveRef",
    "$schema",
    "$vocabulary",
    "contains",
    "contentSchema",
    "dependencies",
    "dependentSchemas",
    "else",
    "id",
    "if",
    "patternProperties",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];

impl Closer {
    /// Closes a schema in place, or gives up.
    fn close(&self, schema: &mut Value) -> Option<Reach> {
        self.close_but(schema, &[])
    }

    /// The same where some of [`TOO_MUCH`] do no harm.
    fn close_but(&self, schema: &mut Value, harmless: &[&str]) -> Option<Reach> {
        let Value::Object(schema) = schema else {
            return Some(Reach::Surface);
        };
        self.close_each(schema, "$defs")?;
        self.close_each(schema, "definitions")?;
        if schema.contains_key("$ref") && self.refs_stand_alone {
            return is_to_a_definition(schema).then_some(Reach::Inside);
        }
        let too_much =
            |keyword: &&str| schema.contains_key(*keyword) && !harmless.contains(keyword);
        let referring = |keyword: &&str| schema.get(*keyword).is_some_and(refers);
        if TOO_MUCH.iter().any(too_much) || ["not", "propertyNames"].iter().any(referring) {
            return None;
        }
        let inside = [
            self.own_keywords(schema)?,
            self.all_of(schema)?,
            self.alternatives(schema, "anyOf")?,
            self.alternatives(schema, "oneOf")?,
            schema.contains_key("$ref"),
        ];
        if inside[4] && !is_to_a_definition(schema) {
            return None;
        }
        match inside.into_iter().filter(|inside| *inside).count() {
            0 | 1 if only_scalars(schema) => Some(Reach::Scalar),
            0 => Some(Reach::Surface),
            1 => Some(Reach::Inside),
            _ => None,
        }
    }

    /// The keywords that go to properties and elements: whether there are any.
    fn own_keywords(&self, schema: &mut Map<String, Value>) -> Option<bool> {
        for key in ["properties", "prefixItems"] {
            self.close_each(schema, key)?;
        }
        for key in ["additionalProperties", "additionalItems", "items"] {
            match schema.get_mut(key) {
                Some(Value::Array(_)) => self.close_each(schema, key)?,
                Some(below) => drop(self.close(below)?),
                None => {}
            }
        }
        let names = match schema.get("properties") {
            Some(Value::Object(properties)) => !properties.is_empty(),
            _ => false,
        };
        let keywords = [
            "items",
            "prefixItems",
            "additionalItems",
            "additionalProperties",
        ];
        let inside = names || keywords.iter().any(|keyword| schema.contains_key(*keyword));
        let open = matches!(
            schema.get("additionalProperties"),
            None | Some(Value::Bool(true))
        );
        if names && open {
            schema.insert("additionalProperties".to_owned(), Value::Bool(false));
        }
        Some(inside)
    }

    fn all_of(&self, schema: &mut Map<String, Value>) -> Option<bool> {
        let Some(Value::Array(branches)) = schema.get_mut("allOf") else {
            return Some(false);
        };
        let reaches = self.reaches(branches)?;
        match reaches
            .iter()
            .filter(|reach| **reach == Reach::Inside)
            .count()
        {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    /// Of `anyOf` and `oneOf`, one branch may go inside where no other can hold for the same value.
    fn alternatives(&self, schema: &mut Map<String, Value>, keyword: &str) -> Option<bool> {
        let Some(Value::Array(branches)) = schema.get_mut(keyword) else {
            return Some(false);
        };
        let reaches = self.reaches(branches)?;
        let others = reaches
            .iter()
            .filter(|reach| **reach != Reach::Scalar)
            .count();
        match (reaches.contains(&Reach::Inside), others) {
            (false, _) => Some(false),
            (true, 1) => Some(true),
            (true, _) => None,
        }
    }

    fn reaches(&self, branches: &mut [Value]) -> Option<Vec<Reach>> {
        branches
            .iter_mut()
            .map(|branch| self.close(branch))
            .collect()
    }

    /// Closes the schemas in the map or the list of a keyword.
    fn close_each(&self, schema: &mut Map<String, Value>, keyword: &str) -> Option<()> {
        match schema.get_mut(keyword) {
            Some(Value::Object(map)) => map
                .values_mut()
                .try_for_each(|schema| self.close(schema).map(drop)),
            Some(Value::Array(list)) => list
                .iter_mut()
                .try_for_each(|schema| self.close(schema).map(drop)),
            _ => Some(()),
        }
    }
}

/// Whether a `$ref` goes to a place that is closed too.
fn is_to_a_definition(schema: &Map<String, Value>) -> bool {
    let Some(Value::String(reference)) = schema.get("$ref") else {
        return false;
    };
    let definition = reference
        .strip_prefix("#/$defs/")
        .or_else(|| reference.strip_prefix("#/definitions/"));
    reference == "#" || definition.is_some_and(|name| !name.contains(['/', '%', '~']))
}

/// Whether there may be a reference anywhere inside.
fn refers(value: &Value) -> bool {
    match value {
        Value::Object(map) => {
            let named = ["$ref", "$dynamicRef", "$recursiveRef"];
            named.iter().any(|keyword| map.contains_key(*keyword)) || map.values().any(refers)
        }
        Value::Array(list) => list.iter().any(refers),
        _ => false,
    }
}

/// Whether `type`, `enum` or `const` leave no object and no array.
fn only_scalars(schema: &Map<String, Value>) -> bool {
    let scalar_type = |name: &Value| !matches!(name.as_str(), None | Some("object" | "array"));
    let scalar = |value: &Value| !value.is_object() && !value.is_array();
    let all = |values: Option<&Value>, test: &dyn Fn(&Value) -> bool| {
        values
            .and_then(Value::as_array)
            .is_some_and(|values| values.iter().all(test))
    };
    schema.get("type").is_some_and(scalar_type)
        || all(schema.get("type"), &scalar_type)
        || all(schema.get("enum"), &scalar)
}
