//! A raw socket: the floor. Connections that are kept, chunks decoded by hand, the same JSON parsing; one thread.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::Instant;

use crate::bare::runtime;
use crate::client::{Answer, Ask, open_loop};
use crate::trip::Trip;

type Idle = Rc<RefCell<Vec<TcpStream>>>;

/// Where the reader stands within the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Head,
    Size,
    /// So many bytes of the chunk are still to come, its line end included.
    Chunk(usize),
    End,
}

pub fn run(ask: &Ask, interval: Duration) {
    let Ask { address, body, .. } = ask;
    let request: Rc<str> = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         accept: text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into();
    let address: Rc<str> = address.as_str().into();
    let idle: Vec<_> = (0..ask.targets).map(|_| Idle::default()).collect();
    let trips = open_loop(interval, |number, ended| {
        let idle = Rc::clone(&idle[number % idle.len()]);
        let (address, request) = (Rc::clone(&address), Rc::clone(&request));
        spawn_local(async move {
            if let Ok(Some(trip)) = travel(&address, &request, &idle).await {
                let _ = ended.send(trip);
            }
        });
    });
    runtime("one").expect("a runtime can be built").block_on(LocalSet::new().run_until(trips));
}

async fn travel(address: &str, request: &str, idle: &Idle) -> io::Result<Option<Trip>> {
    let kept = idle.borrow_mut().pop();
    let mut stream = match kept {
        Some(stream) => stream,
        None => TcpStream::connect(address).await?,
    };
    stream.set_nodelay(true)?;
    let mut answer = Answer::begin();
    stream.write_all(request.as_bytes()).await?;
    let mut buffer = [0; 8 << 10];
    let (mut filled, mut state) = (0, At::Head);
    while state != At::End {
        let more = stream.read(&mut buffer[filled..]).await?;
        let at = Instant::now();
        if more == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        filled += more;
        let taken = decode(&buffer[..filled], &mut state, |data| answer.feed(at, data));
        buffer.copy_within(taken..filled, 0);
        filled -= taken;
    }
    idle.borrow_mut().push(stream);
    Ok(answer.trip())
}

/// Hands on the data of chunks; gives how many bytes are used up.
fn decode(bytes: &[u8], state: &mut At, mut data: impl FnMut(&[u8])) -> usize {
    let mut used = 0;
    loop {
        let rest = &bytes[used..];
        match *state {
            At::Head => {
                let Some(end) = memchr::memmem::find(rest, b"\r\n\r\n") else { return used };
                assert!(rest.starts_with(b"HTTP/1.1 200 "), "the engine refuses");
                used += end + 4;
                *state = At::Size;
            }
            At::Size => {
                let Some(end) = memchr::memmem::find(rest, b"\r\n") else { return used };
                let digits = str::from_utf8(&rest[..end]).expect("a size is text");
                let size = usize::from_str_radix(digits, 16).expect("a size is a number");
                if size == 0 && rest.len() < end + 4 {
                    return used;
                }
                used += if size == 0 { end + 4 } else { end + 2 };
                *state = if size == 0 { At::End } else { At::Chunk(size + 2) };
            }
            At::Chunk(left) => {
                // The line end after a chunk is no data.
                data(&rest[..rest.len().min(left.saturating_sub(2))]);
                let taken = rest.len().min(left);
                used += taken;
                *state = if taken == left { At::Size } else { At::Chunk(left - taken) };
                if used == bytes.len() && *state != At::Size {
                    return used;
                }
            }
            At::End => return used,
        }
    }
}
