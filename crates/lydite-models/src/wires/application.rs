//! Applications under test: what a suite's target reaches over HTTP or as a program.
//!
//! They are wires as those of models are. The one message of a request is what is sent, the reply's text is what
//! came back; what both mean is known to [`lydite::target`] alone.

mod endpoint;
mod program;

use std::sync::Arc;

use lydite::model::{ApplicationSpec, ChatRequest, ModelError, Reach};

use crate::ChatWire;
use crate::wires::environment::Environment;
use endpoint::EndpointWire;
use program::ProgramWire;

/// An application's wire. Header values are read from the process's environment here, and never again.
pub(crate) fn wire(spec: &ApplicationSpec) -> Result<Arc<dyn ChatWire>, ModelError> {
    of(spec, Environment::PROCESS)
}

fn of(
    spec: &ApplicationSpec,
    environment: Environment<'_>,
) -> Result<Arc<dyn ChatWire>, ModelError> {
    Ok(match &spec.reach {
        Reach::Http(http) => Arc::new(EndpointWire::new(spec.name(), http, environment)?),
        Reach::Command(command) => Arc::new(ProgramWire::new(spec.name(), command)?),
    })
}

/// What is sent.
fn message(request: &ChatRequest) -> &str {
    request
        .messages
        .last()
        .map_or("", |message| message.content.as_str())
}
