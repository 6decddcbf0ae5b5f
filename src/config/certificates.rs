//! Files of certificates and keys, in PEM. They are read with the configuration, so that a bad one is told with all
//! other problems; a message never quotes them.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{Error, InconsistentKeys, RootCertStore};

use super::context::{self, Outside, UNREAD};
use super::reader::{Node, Table};
use crate::domain::ClientCertificate;

const CERTIFICATES: &str =
    "name a readable file in PEM, with BEGIN CERTIFICATE in it; a relative path starts at this file's folder";
const KEY: &str =
    "name a readable file in PEM, with BEGIN PRIVATE KEY in it; a relative path starts at this file's folder";
const DECRYPT: &str =
    "write it without a passphrase, such as by openssl pkey, and let sloprobe alone read the file";

/// The outer `None` is a problem; the inner one a file that was not to be read.
type Found<T> = Option<Option<T>>;

pub(super) fn authorities(node: &Node<'_>, outside: &Outside<'_>) -> Found<Arc<[CertificateDer<'static>]>> {
    let Some(list) = certificates(node, "/etc/ssl/our-ca.pem", outside)? else { return Some(None) };
    for (at, certificate) in list.iter().enumerate() {
        if RootCertStore::empty().add(certificate.clone()).is_err() {
            let what = format!("certificate {} of {} in the file cannot be read", at + 1, list.len());
            return node.refuse(what, "let it hold certificates of authorities alone, each whole");
        }
    }
    Some(Some(list.into()))
}

/// `client_cert` and `client_key`: both or neither.
pub(super) fn client(table: &Table<'_>, outside: &Outside<'_>) -> Found<ClientCertificate> {
    match (table.get("client_cert"), table.get("client_key")) {
        (None, None) => Some(None),
        (Some(cert), None) => {
            // Read all the same, so that what is wrong with it is told at once.
            certificates(&cert, "client.pem", outside);
            cert.refuse("a certificate without its key", "write client_key = \"/path\", too")
        }
        (None, Some(key)) => {
            private_key(&key, outside);
            key.refuse("a key without its certificate", "write client_cert = \"/path\", too")
        }
        (Some(cert), Some(key)) => {
            let chain = certificates(&cert, "client.pem", outside);
            let secret = private_key(&key, outside);
            let (Some(chain), Some(secret)) = (chain?, secret?) else { return Some(None) };
            belongs(&cert, &key, &chain, &secret)?;
            Some(Some(ClientCertificate { chain, key: Arc::new(secret) }))
        }
    }
}

fn certificates(
    node: &Node<'_>,
    example: &str,
    outside: &Outside<'_>,
) -> Found<Vec<CertificateDer<'static>>> {
    let Some(text) = file(node, example, CERTIFICATES, outside)? else { return Some(None) };
    let list: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    match list {
        Ok(list) if list.is_empty() => node.refuse("there is no certificate in the file", CERTIFICATES),
        Ok(list) => Some(Some(list)),
        Err(_) => node.refuse("the file is no PEM, or is cut short", CERTIFICATES),
    }
}

fn private_key(node: &Node<'_>, outside: &Outside<'_>) -> Found<PrivateKeyDer<'static>> {
    let Some(text) = file(node, "client.key", KEY, outside)? else { return Some(None) };
    match PrivateKeyDer::from_pem_slice(text.as_bytes()) {
        Ok(_) if text.contains("Proc-Type: 4,ENCRYPTED") => node.refuse("the key is encrypted", DECRYPT),
        Ok(key) => Some(Some(key)),
        Err(_) if text.contains("ENCRYPTED PRIVATE KEY") => node.refuse("the key is encrypted", DECRYPT),
        Err(_) => node.refuse("there is no private key in the file", KEY),
    }
}

fn belongs(
    cert: &Node<'_>,
    key: &Node<'_>,
    chain: &[CertificateDer<'static>],
    secret: &PrivateKeyDer<'static>,
) -> Option<()> {
    let provider = rustls::crypto::ring::default_provider();
    let Ok(signer) = provider.key_provider.load_private_key(secret.clone_key()) else {
        return key
            .refuse("not a key of a kind that can be used", "use RSA, ECDSA (P-256, P-384) or Ed25519");
    };
    match CertifiedKey::new(chain.to_vec(), signer).keys_match() {
        Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => Some(()),
        Err(Error::InconsistentKeys(_)) => key.refuse(
            "this key is not that of client_cert",
            "name the key that the first certificate of client_cert was made for",
        ),
        Err(_) => cert.refuse("the first certificate in the file cannot be read", CERTIFICATES),
    }
}

fn file(node: &Node<'_>, example: &str, remedy: &str, outside: &Outside<'_>) -> Found<String> {
    let path = node.text(example)?;
    match (outside.file)(Path::new(path)) {
        Ok(text) if text == UNREAD => Some(None),
        Ok(text) => Some(Some(text)),
        Err(error) => node.refuse(format!("nothing can be read here: {}", context::explain(&error)), remedy),
    }
}
