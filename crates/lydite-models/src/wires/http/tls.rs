//! Which certificates are trusted: the system's, and those of a model's `ca_file`.

use std::sync::{Arc, OnceLock};

use rustls::ClientConfig;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls_platform_verifier::Verifier;

/// The process's configuration, or one of its own for a model with a `ca_file`.
pub(super) fn configuration(ca_file: Option<&str>) -> Result<ClientConfig, String> {
    static SYSTEM: OnceLock<ClientConfig> = OnceLock::new();
    if let Some(path) = ca_file {
        return build(certificates(path)?);
    }
    if let Some(system) = SYSTEM.get() {
        return Ok(system.clone());
    }
    let system = build(Vec::new())?;
    Ok(SYSTEM.get_or_init(|| system).clone())
}

fn build(extra: Vec<CertificateDer<'static>>) -> Result<ClientConfig, String> {
    let failed = |error: rustls::Error| format!("no TLS: {error}");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Verifier::new_with_extra_roots(extra, Arc::clone(&provider)).map_err(failed)?;
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(failed)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth())
}

fn certificates(path: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let failed =
        |error: rustls::pki_types::pem::Error| format!("`ca_file` {path} can't be read: {error}");
    let certificates: Vec<_> = CertificateDer::pem_file_iter(path)
        .map_err(failed)?
        .collect::<Result<_, _>>()
        .map_err(failed)?;
    if certificates.is_empty() {
        return Err(format!("`ca_file` {path} holds no certificate in PEM form"));
    }
    Ok(certificates)
}
