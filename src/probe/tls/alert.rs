//! What a failed TLS session means, in plain words.

use rustls::{Error, InvalidMessage};

/// How rustls tells what the other side complains about.
const ALERT: &str = "received fatal alert: ";

/// The meaning of an error that no certificate of the server explains; `None` where the library's words will do.
pub(in crate::probe) fn explain(error: &Error) -> Option<&'static str> {
    matches!(error, Error::InvalidMessage(InvalidMessage::InvalidContentType))
        .then_some("what answers there does not speak TLS; write an http:// url if that is right")
}

/// The meaning of an alert from the server, if that is what these words tell; `None` for any others. It goes by the words
/// because HTTP/2 passes on nothing else of an error. `identified` says whether we have a client certificate.
pub(in crate::probe) fn explain_alert(words: &str, identified: bool) -> Option<String> {
    let alert = words.strip_prefix(ALERT)?;
    let what = match alert {
        "CertificateRequired" if !identified => {
            "the server demands a client certificate; set client_cert and client_key"
        }
        "HandshakeFailure" if !identified => {
            "the server refuses the handshake: it may demand a client certificate (client_cert and client_key), or \
             accept no cipher that is offered"
        }
        "CertificateRequired"
        | "BadCertificate"
        | "UnsupportedCertificate"
        | "CertificateRevoked"
        | "CertificateExpired"
        | "CertificateUnknown"
        | "UnknownCA"
        | "AccessDenied"
            if identified =>
        {
            "the server refuses the client certificate; see client_cert"
        }
        "UnrecognisedName" => "the server knows no site of this name; set server_name to one that it knows",
        "NoApplicationProtocol" => "the server speaks no version of HTTP that is asked for; see http",
        "ProtocolVersion" => "the server speaks neither TLS 1.2 nor TLS 1.3; upgrade it",
        _ => "the server ended the TLS session",
    };
    Some(format!("{what} (alert {alert})"))
}

#[cfg(test)]
mod tests {
    use rustls::AlertDescription;

    use super::*;

    #[test]
    fn an_alert_names_its_remedy() {
        let told = |alert, identified| {
            explain_alert(&Error::AlertReceived(alert).to_string(), identified).expect("it is an alert")
        };
        assert_eq!(
            told(AlertDescription::CertificateRequired, false),
            "the server demands a client certificate; set client_cert and client_key (alert CertificateRequired)"
        );
        let refused = "the server refuses the client certificate";
        assert!(told(AlertDescription::CertificateRequired, true).starts_with(refused));
        assert!(told(AlertDescription::UnknownCA, true).starts_with(refused));
        assert!(told(AlertDescription::UnrecognisedName, false).contains("server_name"));
        assert!(told(AlertDescription::NoApplicationProtocol, false).contains("see http"));
        assert!(told(AlertDescription::ProtocolVersion, false).contains("upgrade it"));
        assert!(told(AlertDescription::InternalError, false).ends_with("(alert InternalError)"));
        assert_eq!(explain_alert(&Error::DecryptError.to_string(), false), None);
    }

    #[test]
    fn what_is_no_tls_is_told_so() {
        let plain = Error::InvalidMessage(InvalidMessage::InvalidContentType);
        assert!(explain(&plain).is_some_and(|told| told.contains("does not speak TLS")));
        assert_eq!(explain(&Error::DecryptError), None);
    }
}
