//! A certificate of one's own, made when the server starts.

use std::io;
use std::sync::Arc;

use rcgen::CertifiedKey;
use rustls::ServerConfig;
use rustls::pki_types::PrivatePkcs8KeyDer;
use tokio_rustls::TlsAcceptor;

/// The names that the certificate is good for.
const NAMES: [&str; 3] = ["127.0.0.1", "localhost", "::1"];

/// What speaks TLS, and the certificate that a client has to trust.
pub(crate) struct Tls {
    pub(crate) acceptor: TlsAcceptor,
    pub(crate) certificate_pem: String,
}

impl Tls {
    pub(crate) fn new() -> io::Result<Self> {
        let CertifiedKey { cert, signing_key } =
            rcgen::generate_simple_self_signed(NAMES.map(str::to_owned))
                .map_err(io::Error::other)?;
        let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| {
                builder
                    .with_no_client_auth()
                    .with_single_cert(vec![cert.der().clone()], key.into())
            })
            .map_err(io::Error::other)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            certificate_pem: cert.pem(),
        })
    }
}
