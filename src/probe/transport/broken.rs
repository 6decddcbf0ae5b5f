//! What a broken exchange is told as.

use std::error::Error;
use std::io;

use crate::probe::tls;

/// The exchange broke.
#[derive(Debug)]
pub(in crate::probe) struct Broken {
    pub(in crate::probe) detail: String,
    /// What came was not HTTP, rather than cut short.
    pub(in crate::probe) nonsense: bool,
    /// The server ended the TLS session: with TLS 1.3 it refuses a client certificate only after the handshake.
    pub(in crate::probe) tls: bool,
    /// The server hung up.
    closed: bool,
}

impl Broken {
    /// `identified` says whether the server was shown a client certificate.
    pub(super) fn new(error: reqwest::Error, identified: bool) -> Self {
        // Addresses may hold a key in their query: they stay out of what is logged.
        let error = error.without_url();
        let mut broken = Self { detail: error.to_string(), nonsense: false, tls: false, closed: false };
        let mut source = error.source();
        while let Some(cause) = source {
            broken.take(cause, identified);
            source = cause.source();
        }
        broken
    }

    /// What happened, in plain words, and when; then in those of the library.
    pub(in crate::probe) fn told(&self, when: &str) -> String {
        let what = if self.closed { "the server closed the connection" } else { "the connection broke" };
        format!("{what} {when} ({})", self.detail)
    }

    fn take(&mut self, cause: &(dyn Error + 'static), identified: bool) {
        self.detail = cause.to_string();
        if let Some(error) = cause.downcast_ref::<hyper::Error>() {
            self.nonsense |= error.is_parse();
            self.closed |= error.is_incomplete_message();
        }
        if let Some(error) = cause.downcast_ref::<io::Error>() {
            use io::ErrorKind::{BrokenPipe, ConnectionReset, InvalidData, InvalidInput, UnexpectedEof};
            self.nonsense |= matches!(error.kind(), InvalidData | InvalidInput);
            self.closed |= matches!(error.kind(), UnexpectedEof | ConnectionReset | BrokenPipe);
            if let Some(error) = tls_error(error) {
                self.detail = tls::explain(error).map_or_else(|| error.to_string(), str::to_owned);
            }
        }
        if let Some(meaning) = tls::explain_alert(&self.detail, identified) {
            self.tls = true;
            self.detail = meaning;
        }
    }
}

/// The error of TLS within an error of the system, which is not among its sources and may be wrapped twice.
fn tls_error(mut error: &io::Error) -> Option<&rustls::Error> {
    loop {
        let inner = error.get_ref()?;
        if let Some(found) = inner.downcast_ref() {
            return Some(found);
        }
        error = inner.downcast_ref()?;
    }
}
