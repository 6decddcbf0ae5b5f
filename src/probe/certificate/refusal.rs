//! Why a certificate is refused: what is wrong with it, and what to do.

use std::fmt;
use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, Error};
use x509_cert::Certificate;
use x509_cert::der::Decode as _;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{BasicConstraints, SubjectAltName};

/// The longest name of an issuer that is repeated, and the most names of a server.
const MAX_NAME_CHARS: usize = 80;
const MAX_NAMES: usize = 3;

pub(super) struct Refusal<'a> {
    pub(super) error: &'a Error,
    pub(super) end_entity: &'a CertificateDer<'a>,
    pub(super) intermediates: &'a [CertificateDer<'a>],
    pub(super) server_name: &'a ServerName<'a>,
    pub(super) now: UnixTime,
    pub(super) is_target: bool,
    /// Whether there are any certificate authorities to compare with.
    pub(super) trusts_anybody: bool,
}

impl fmt::Display for Refusal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Error::InvalidCertificate(error) = self.error else { return write!(f, "{}", self.error) };
        let whose = if self.is_target { "the certificate" } else { "the proxy's certificate" };
        match error {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => self.tell_end(f, whose),
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                self.tell_beginning(f, whose)
            }
            CertificateError::UnknownIssuer => self.tell_issuer(f, whose),
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                self.tell_names(f, whose)
            }
            CertificateError::Revoked => write!(f, "{whose} is revoked; get a new one"),
            CertificateError::BadSignature => {
                write!(
                    f,
                    "{whose} has a bad signature: it was changed, or another authority of the same name signed it"
                )
            }
            CertificateError::BadEncoding => write!(f, "{whose} cannot be read: it is damaged"),
            CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
                write!(f, "{whose} is not meant for servers; get one with the purpose serverAuth")
            }
            _ if self.is_of_an_authority() => write!(
                f,
                "{whose} is that of an authority (CA:TRUE), which no server may present; issue one for the server"
            ),
            other => write!(f, "{whose} is refused: {other}"),
        }
    }
}

impl Refusal<'_> {
    fn tell_end(&self, f: &mut fmt::Formatter<'_>, whose: &str) -> fmt::Result {
        let has_ended = |certificate: &Certificate| end(certificate) < moment(self.now);
        let own = self.own().filter(has_ended);
        let others = self.intermediates.iter().filter_map(|der| Certificate::from_der(der).ok());
        match (own, others.into_iter().find(has_ended)) {
            (Some(own), _) => write!(f, "{whose} expired at {}; renew it", time(end(&own))),
            (None, Some(other)) => write!(
                f,
                "{whose} is good, but that of the intermediate authority {} expired at {}; let the server send a new one",
                shown(&other.tbs_certificate().subject().to_string()),
                time(end(&other))
            ),
            (None, None) => write!(f, "{whose} expired; renew it"),
        }
    }

    fn tell_beginning(&self, f: &mut fmt::Formatter<'_>, whose: &str) -> fmt::Result {
        write!(f, "{whose} is not valid yet")?;
        if let Some(own) = self.own() {
            let start = own.tbs_certificate().validity().not_before.to_system_time();
            if start > moment(self.now) {
                write!(f, ", but from {} on", time(start))?;
            }
        }
        write!(f, "; here it is {}: check both clocks", time(moment(self.now)))
    }

    fn tell_issuer(&self, f: &mut fmt::Formatter<'_>, whose: &str) -> fmt::Result {
        if !self.trusts_anybody {
            return write!(
                f,
                "{whose} cannot be verified: this machine knows no certificate authorities; install ca-certificates or set ca"
            );
        }
        let Some(own) = self.own() else { return write!(f, "{whose} is from an unknown authority; set ca") };
        let own = own.tbs_certificate();
        if own.issuer() == own.subject() {
            return write!(f, "{whose} is self-signed and not trusted here; set ca to a file that holds it");
        }
        // The authority that nobody here knows is the one above the last certificate that was sent.
        let last = self.intermediates.last().and_then(|der| Certificate::from_der(der).ok());
        let issuer = last.as_ref().map_or(own.issuer(), |last| last.tbs_certificate().issuer());
        write!(
            f,
            "{whose} is from an authority that is not trusted here, {}; set ca to a file that holds its certificate",
            shown(&issuer.to_string())
        )?;
        if self.intermediates.is_empty() {
            write!(f, ", or let the server send its intermediate certificates")?;
        }
        Ok(())
    }

    fn tell_names(&self, f: &mut fmt::Formatter<'_>, whose: &str) -> fmt::Result {
        write!(f, "{whose} is not valid for {}", self.server_name.to_str())?;
        let names = self.own().map(|own| names(&own)).unwrap_or_default();
        if names.is_empty() {
            return write!(f, ": it names no server (subjectAltName); get one that does");
        }
        let more = names.len().saturating_sub(MAX_NAMES);
        let first: Vec<_> = names.iter().take(MAX_NAMES).map(|name| shown(name)).collect();
        write!(f, " but for {}", first.join(", "))?;
        if more > 0 {
            write!(f, " and {more} more")?;
        }
        write!(f, "; use such a name in url, or set server_name")
    }

    fn own(&self) -> Option<Certificate> {
        Certificate::from_der(self.end_entity).ok()
    }

    fn is_of_an_authority(&self) -> bool {
        let own = self.own();
        let constraints = own
            .as_ref()
            .and_then(|own| own.tbs_certificate().get_extension::<BasicConstraints>().ok().flatten());
        constraints.is_some_and(|(_, constraints)| constraints.ca)
    }
}

fn end(certificate: &Certificate) -> SystemTime {
    certificate.tbs_certificate().validity().not_after.to_system_time()
}

fn moment(time: UnixTime) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(time.as_secs())
}

fn time(time: SystemTime) -> impl fmt::Display {
    humantime::format_rfc3339_seconds(time)
}

/// The servers that a certificate is for.
fn names(certificate: &Certificate) -> Vec<String> {
    let found = certificate.tbs_certificate().get_extension::<SubjectAltName>().ok().flatten();
    let name = |name: &GeneralName| match name {
        GeneralName::DnsName(name) => Some(name.as_str().to_owned()),
        GeneralName::IpAddress(bytes) => {
            let bytes = bytes.as_bytes();
            let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
            v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok().map(|ip| ip.to_string())
        }
        _ => None,
    };
    found.map(|(_, SubjectAltName(names))| names.iter().filter_map(name).collect()).unwrap_or_default()
}

/// A name that strangers chose: in quotes, on one line, bounded.
fn shown(name: &str) -> String {
    let clean: String = name.chars().filter(|c| !c.is_control()).take(MAX_NAME_CHARS).collect();
    let more = if name.chars().count() > MAX_NAME_CHARS { "…" } else { "" };
    format!("\"{clean}{more}\"")
}

#[cfg(test)]
mod tests;
