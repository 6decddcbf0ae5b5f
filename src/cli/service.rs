//! Tells systemd how the daemon is: ready, reloading, stopping. Elsewhere nobody listens, and nothing is told.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The variable by which systemd names the socket where it listens.
const SOCKET: &str = "NOTIFY_SOCKET";

/// The line to systemd, if it listens.
#[derive(Debug)]
pub(super) struct Service(Option<UnixDatagram>);

impl Service {
    /// As the environment says. A socket that cannot be reached is told in the log: systemd would wait for it.
    pub(super) fn connect() -> Self {
        let name = std::env::var_os(SOCKET).filter(|name| !name.is_empty());
        Self(name.and_then(|name| {
            open(&name).inspect_err(|error| tracing::warn!(%error, "systemd cannot be reached")).ok()
        }))
    }

    pub(super) fn ready(&self) {
        self.tell("READY=1");
    }

    /// The configuration is being read again; [`Service::ready`] ends it. systemd tells an older message from this one by
    /// the time.
    pub(super) fn reloading(&self) {
        let now = clock_gettime(ClockId::Monotonic);
        let now = Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32);
        self.tell(&format!("RELOADING=1\nMONOTONIC_USEC={}", now.as_micros()));
    }

    /// What `systemctl status` shows.
    pub(super) fn status(&self, text: &str) {
        self.tell(&format!("STATUS={}", text.lines().next().unwrap_or_default()));
    }

    pub(super) fn stopping(&self) {
        self.tell("STOPPING=1");
    }

    fn tell(&self, message: &str) {
        if let Some(socket) = &self.0
            && let Err(error) = socket.send(message.as_bytes())
        {
            tracing::warn!(%error, "systemd cannot be told");
        }
    }
}

/// A name that begins with `@` is not that of a file.
fn open(name: &OsStr) -> io::Result<UnixDatagram> {
    let address = match name.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(name)?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.connect_addr(&address)?;
    // A manager that does not listen must not hold up the daemon.
    socket.set_nonblocking(true)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_arrives_by_path_and_by_abstract_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let hidden = format!("sloprobe-test-{}", std::process::id());
        let listeners = [
            (UnixDatagram::bind(&path).unwrap(), path.into_os_string()),
            (
                UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&hidden).unwrap()).unwrap(),
                format!("@{hidden}").into(),
            ),
        ];
        for (listener, name) in listeners {
            let service = Service(Some(open(&name).unwrap()));
            service.ready();
            service.reloading();
            service.status("a line\nand another");
            service.stopping();
            let heard = || {
                let mut bytes = [0; 256];
                let count = listener.recv(&mut bytes).unwrap();
                String::from_utf8_lossy(&bytes[..count]).into_owned()
            };
            assert_eq!(heard(), "READY=1");
            let reloading = heard();
            let time = reloading.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap();
            assert!(time.parse::<u64>().unwrap() > 0, "{reloading}");
            assert_eq!([heard(), heard()], ["STATUS=a line", "STOPPING=1"]);
        }
    }
}
