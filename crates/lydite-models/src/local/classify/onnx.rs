//! Runs ONNX files by ONNX Runtime, a library that is loaded when it is first needed.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ort::environment::Environment;
use ort::logging::LogLevel;
use ort::session::{Session, SessionInputValue};
use ort::value::{Tensor, TensorElementType};

use super::Forward;
use super::encode::Batch;
use super::error::ClassifierError;

/// Where the library stands; without it, the system's loader looks for it under its usual name.
const LIBRARY: &str = "ORT_DYLIB_PATH";

pub(super) fn load(
    file: &Path,
    hasher: &mut blake3::Hasher,
) -> Result<Box<dyn Forward>, ClassifierError> {
    for part in parts(file)? {
        hash(&part, hasher)?;
    }
    let environment = environment()?;
    let session = session(&environment, file).map_err(|error| {
        ClassifierError::file(file, format!("ONNX Runtime refuses it: {}", told(&error)))
    })?;
    let inputs = inputs(&session).map_err(|problem| ClassifierError::file(file, problem))?;
    let output = output(&session).map_err(|problem| ClassifierError::file(file, problem))?;
    Ok(Box::new(Onnx {
        session: Mutex::new(session),
        inputs,
        output,
    }))
}

struct Onnx {
    /// It runs one batch at a time, on all processors.
    session: Mutex<Session>,
    inputs: Vec<Input>,
    output: String,
}

struct Input {
    name: String,
    role: Role,
    wide: bool,
}

#[derive(Clone, Copy)]
enum Role {
    Ids,
    Mask,
    Types,
}

impl Forward for Onnx {
    fn logits(&self, batch: &Batch) -> Result<Vec<f32>, String> {
        self.run(batch).map_err(|error| told(&error))
    }
}

impl Onnx {
    fn run(&self, batch: &Batch) -> ort::Result<Vec<f32>> {
        let inputs = self.inputs.iter().map(|input| input.of(batch));
        let inputs = inputs.collect::<ort::Result<Vec<_>>>()?;
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let outputs = session.run(inputs)?;
        let logits = outputs
            .get(&self.output)
            .ok_or_else(|| ort::Error::new("the model gave no logits"))?;
        let (_, logits) = logits.try_extract_tensor::<f32>()?;
        Ok(logits.to_vec())
    }
}

impl Input {
    fn of<'a>(&'a self, batch: &Batch) -> ort::Result<(Cow<'a, str>, SessionInputValue<'static>)> {
        let values = match self.role {
            Role::Ids => &batch.ids,
            Role::Mask => &batch.mask,
            Role::Types => &batch.types,
        };
        let shape = [batch.texts.len(), batch.width];
        let value = if self.wide {
            let values: Vec<i64> = values.iter().map(|&value| i64::from(value)).collect();
            Tensor::from_array((shape, values))?.into()
        } else {
            let values: Vec<i32> = values.iter().map(|&value| value.cast_signed()).collect();
            Tensor::from_array((shape, values))?.into()
        };
        Ok((Cow::Borrowed(&self.name), value))
    }
}

/// The file, and those beside it with weights that did not fit into it.
fn parts(file: &Path) -> Result<Vec<PathBuf>, ClassifierError> {
    let cannot = |cause| ClassifierError::Read {
        path: file.to_owned(),
        cause,
    };
    let folder = file.parent().unwrap_or(Path::new("."));
    let mut parts = Vec::new();
    for entry in folder.read_dir().map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let name = entry.file_name();
        if name.to_string_lossy().starts_with("model.onnx") && entry.path().is_file() {
            parts.push(entry.path());
        }
    }
    parts.sort();
    Ok(parts)
}

fn hash(path: &Path, hasher: &mut blake3::Hasher) -> Result<(), ClassifierError> {
    let read = std::fs::File::open(path).and_then(|file| hasher.update_reader(file).map(|_| ()));
    read.map_err(|cause| ClassifierError::Read {
        path: path.to_owned(),
        cause,
    })
}

/// Of the whole process: ONNX Runtime knows only one, which stays once it is there.
fn environment() -> Result<Environment, ClassifierError> {
    static MADE: Mutex<Option<Environment>> = Mutex::new(None);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(environment) = &*made {
        return Ok(environment.clone());
    }
    let library = library()?;
    let failed = |problem: String| ClassifierError::Library { problem };
    let builder = ort::init_from(&library).map_err(|error| failed(error.to_string()))?;
    let environment = builder
        .with_name("lydite")
        .with_telemetry(false)
        .build()
        .map_err(|error| failed(told(&error)))?;
    environment.set_log_level(LogLevel::Error);
    *made = Some(environment.clone());
    Ok(environment)
}

/// A path that leads to a file, or the bare name, for which the system's loader looks.
fn library() -> Result<PathBuf, ClassifierError> {
    let set = std::env::var_os(LIBRARY).filter(|path| !path.is_empty());
    let Some(set) = set.map(PathBuf::from) else {
        let name = format!(
            "{}onnxruntime{}",
            std::env::consts::DLL_PREFIX,
            std::env::consts::DLL_SUFFIX
        );
        return Ok(PathBuf::from(name));
    };
    if set.is_file() {
        return Ok(std::path::absolute(&set).unwrap_or(set));
    }
    Err(ClassifierError::Library {
        problem: format!("{LIBRARY} is {}, and there is no such file", set.display()),
    })
}

fn session(environment: &Environment, file: &Path) -> ort::Result<Session> {
    Session::builder(environment)?.commit_from_file(file)
}

/// By name and type: what a tokenizer gives, and nothing else.
fn inputs(session: &Session) -> Result<Vec<Input>, String> {
    let read = |outlet: &ort::value::Outlet| {
        let name = outlet.name();
        let role = match name {
            "input_ids" => Role::Ids,
            "attention_mask" => Role::Mask,
            "token_type_ids" => Role::Types,
            _ => {
                return Err(format!(
                    "it asks for the input `{name}`; input_ids, attention_mask and token_type_ids can be given"
                ));
            }
        };
        let wide = match outlet.dtype().tensor_type() {
            Some(TensorElementType::Int64) => true,
            Some(TensorElementType::Int32) => false,
            _ => {
                return Err(format!(
                    "its input `{name}` must be a tensor of int64 or int32"
                ));
            }
        };
        Ok(Input {
            name: name.to_owned(),
            role,
            wide,
        })
    };
    let inputs: Vec<Input> = session
        .inputs()
        .iter()
        .map(read)
        .collect::<Result<_, _>>()?;
    if inputs.iter().any(|input| matches!(input.role, Role::Ids)) {
        return Ok(inputs);
    }
    Err("it has no input `input_ids`: it is no classifier of texts".to_owned())
}

/// `logits`, or the only output.
fn output(session: &Session) -> Result<String, String> {
    let outputs = session.outputs();
    let named = outputs.iter().find(|output| output.name() == "logits");
    let only = outputs.first().filter(|_| outputs.len() == 1);
    let found = named.or(only).ok_or("it has no output `logits`")?;
    if found.dtype().tensor_type() == Some(TensorElementType::Float32) {
        return Ok(found.name().to_owned());
    }
    Err(format!(
        "its output `{}` must be a tensor of float32",
        found.name()
    ))
}

fn told(error: &ort::Error) -> String {
    error.to_string().lines().collect::<Vec<_>>().join(" ")
}
