//! `when` and `where`: an expression and the fields of a record that it reads.

use bumpalo::Bump;

use crate::decode::{RowPath, Wanted};
use crate::expr::{Expr, Value, value_from_json};
use crate::path::FieldPath;
use crate::record::{Field, Raw, Slots};

/// A compiled `when` or `where` and the fields it reads.
#[derive(Debug)]
pub struct Condition {
    expr: Expr,
    fields: Vec<(String, RowPath)>,
    /// Keys below `extra`.
    extra: Vec<(String, RowPath)>,
}

impl Condition {
    /// Compiles an expression over a record's fields (`extra.<key>` for the other keys).
    pub fn new(source: &str, wanted: &mut Wanted) -> Result<Self, String> {
        let expr = Expr::compile(source).map_err(|error| error.to_string())?;
        let mut condition = Self {
            fields: Vec::new(),
            extra: Vec::new(),
            expr,
        };
        let roots: Vec<String> = condition.expr.roots().iter().cloned().collect();
        for root in roots {
            if root == "extra" {
                condition.bind_extra(wanted)?;
                continue;
            }
            let path = FieldPath::parse(&root).map_err(|error| error.to_string())?;
            let path = RowPath::new(&path, false, wanted).ok_or_else(|| unknown_root(&root))?;
            condition.fields.push((root, path));
        }
        Ok(condition)
    }

    /// Whether it looks at the record's id.
    pub fn reads_id(&self) -> bool {
        self.fields
            .iter()
            .any(|(root, _)| root == Field::Id.as_str())
    }

    fn bind_extra(&mut self, wanted: &mut Wanted) -> Result<(), String> {
        let keys = self
            .expr
            .members("extra")
            .ok_or("name a key below `extra`, such as `extra.city`")?;
        for key in keys {
            let path =
                FieldPath::parse(&format!("extra.{key}")).map_err(|error| error.to_string())?;
            if let Some(path) = RowPath::new(&path, false, wanted) {
                self.extra.push((key.to_owned(), path));
            }
        }
        Ok(())
    }

    /// Whether it holds for a record; an error where it gives no boolean.
    pub fn holds(&self, slots: &Slots<'_>, arena: &Bump) -> Result<bool, String> {
        let value = |path: &RowPath| match path.resolve(slots, arena)? {
            Raw::Text(text) => Some(Value::from(text)),
            Raw::Json(source) => value_from_json(source).ok(),
        };
        let lookup = |name: &str| {
            if name == "extra" {
                let pairs = self
                    .extra
                    .iter()
                    .filter_map(|(key, path)| Some((key.as_str(), value(path)?)));
                return Some(Value::from_pairs(pairs));
            }
            self.fields
                .iter()
                .find(|(known, _)| known == name)
                .and_then(|(_, path)| value(path))
        };
        self.expr.eval(&lookup).map_err(|error| error.to_string())
    }
}

pub(super) fn unknown_root(root: &str) -> String {
    let nearest = Field::ALL
        .into_iter()
        .map(Field::as_str)
        .max_by(|a, b| strsim::jaro_winkler(a, root).total_cmp(&strsim::jaro_winkler(b, root)))
        .filter(|name| strsim::jaro_winkler(name, root) > 0.8);
    match nearest {
        Some(name) => format!("`{root}` is no field of a record; did you mean `{name}`?"),
        None => format!(
            "`{root}` is no field of a record; keys that are none are reached as `extra.{root}`"
        ),
    }
}
