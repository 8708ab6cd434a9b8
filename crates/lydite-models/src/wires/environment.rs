//! The environment variables that models are made with: keys, header values, proxies.

use std::fmt;

use lydite::model::{ModelError, ModelErrorKind, ModelSpec};

use crate::wires::provider;
use crate::wires::secret::Secret;

/// Where variables are looked up: the process's own, or a test's.
#[derive(Clone, Copy)]
pub(crate) struct Environment<'e>(pub(crate) &'e dyn Fn(&str) -> Option<String>);

impl fmt::Debug for Environment<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Environment")
    }
}

impl Environment<'_> {
    pub(crate) const PROCESS: Environment<'static> = Environment(&|name| std::env::var(name).ok());

    /// A variable's text without white space around it; `None` where it is unset or empty.
    pub(crate) fn get(self, name: &str) -> Option<String> {
        let value = (self.0)(name)?;
        let value = value.trim();
        (!value.is_empty()).then(|| value.to_owned())
    }

    /// The first of some variables that is set, with its name.
    pub(crate) fn first<'n>(self, names: &[&'n str]) -> Option<(&'n str, String)> {
        names
            .iter()
            .find_map(|name| self.get(name).map(|value| (*name, value)))
    }
}

/// A key and the variable it came from.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) secret: Secret,
    pub(crate) variable: String,
}

/// A model's key. A variable that the suite names must be set; the provider's own need not be for
/// servers on this machine.
pub(crate) fn key(
    spec: &ModelSpec,
    environment: Environment<'_>,
) -> Result<Option<Key>, ModelError> {
    let of = |variable: &str, value: String| Key {
        secret: Secret::new(&value),
        variable: variable.to_owned(),
    };
    if let Some(variable) = &spec.api_key_env {
        return match environment.get(variable) {
            Some(value) => Ok(Some(of(variable, value))),
            None => Err(no_key(spec, variable, "as `api_key_env` says")),
        };
    }
    let variables = provider::facts(spec.provider).key_variables;
    match (environment.first(variables), variables.first()) {
        (Some((variable, value)), _) => Ok(Some(of(variable, value))),
        (None, Some(variable)) if !provider::is_local(spec) => Err(no_key(
            spec,
            variable,
            "or name another variable by `api_key_env` of this model under `models:` in the suite",
        )),
        (None, _) => Ok(None),
    }
}

fn no_key(spec: &ModelSpec, variable: &str, rest: &str) -> ModelError {
    ModelError::new(
        ModelErrorKind::Unauthorized,
        format!(
            "{}: no API key: set the environment variable {variable}, {rest}",
            spec.name()
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str, edit: impl FnOnce(&mut ModelSpec)) -> ModelSpec {
        let mut spec = ModelSpec::parse(text).unwrap();
        edit(&mut spec);
        spec
    }

    #[test]
    fn where_keys_come_from() {
        let lookup = |name: &str| match name {
            "GOOGLE_API_KEY" => Some(" g-key\n".to_owned()),
            "MY_KEY" => Some("m-key".to_owned()),
            "OPENAI_API_KEY" => Some(String::new()),
            _ => None,
        };
        let environment = Environment(&lookup);
        let plain = |_: &mut ModelSpec| {};
        let cases = [
            (spec("gemini/x", plain), Ok(Some("g-key"))),
            (spec("ollama/x", plain), Ok(None)),
            (
                spec("openai/x", |s| {
                    s.base_url = Some("http://127.0.0.1:1/v1".into());
                }),
                Ok(None),
            ),
            (
                spec("vllm/x", |s| s.api_key_env = Some("MY_KEY".into())),
                Ok(Some("m-key")),
            ),
            (
                spec("openai/x", plain),
                Err(
                    "set the environment variable OPENAI_API_KEY, or name another variable by `api_key_env`",
                ),
            ),
            (spec("anthropic/x", plain), Err("ANTHROPIC_API_KEY")),
            (
                spec("vllm/x", |s| s.api_key_env = Some("GONE".into())),
                Err("set the environment variable GONE"),
            ),
        ];
        for (spec, expected) in cases {
            match (key(&spec, environment), expected) {
                (Ok(found), Ok(expected)) => {
                    let found = found.as_ref().map(|key| key.secret.expose());
                    assert_eq!(found, expected, "{}", spec.name());
                }
                (Err(error), Err(words)) => {
                    assert_eq!(error.kind, ModelErrorKind::Unauthorized);
                    assert!(error.message.contains(words), "{}", error.message);
                }
                (found, _) => panic!("{}: {found:?}", spec.name()),
            }
        }
    }
}
