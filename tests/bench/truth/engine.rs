//! The engine that is measured: tokens on an exactly known schedule, from a process of its own.
//!
//! A thread waits at each connection, so a request is read as soon as it is there. One more thread writes all tokens,
//! in the order in which they are due: no stream waits for the wake-up of a thread of its own.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, BufRead as _, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use hdrhistogram::Histogram;
use tokio::time::Instant;

use crate::script::{self, Reply, Script, Truth};

/// More connections than any client here opens. The threads are there before they are needed, because
/// starting one takes longer than what is measured.
const CONNECTIONS: usize = 900;

/// A thread that reads requests needs no more.
const STACK_BYTES: usize = 128 << 10;

/// Tokens written, and how late, since it was last asked.
#[derive(Debug)]
struct Tally {
    tokens: u64,
    late_micros: Histogram<u64>,
}

/// One answer under way.
#[derive(Debug)]
struct Answer {
    stream: Arc<TcpStream>,
    reply: Reply,
    read_at: Instant,
    first_written: Option<Instant>,
    written: u32,
}

#[derive(Debug)]
struct Pacer {
    script: Script,
    tokens: Vec<Vec<u8>>,
    /// Answers under way by number, and when each is due next.
    answers: Vec<Option<Answer>>,
    free: Vec<usize>,
    due: BinaryHeap<Reverse<(Instant, usize)>>,
    tally: Arc<Mutex<Tally>>,
}

/// Serves until its parent closes the standard input. Each line there is a question for the tally, answered by a
/// line: tokens, median and 99th percentile of their lateness in microseconds.
pub fn serve(script: Script) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let tally = Arc::new(Mutex::new(Tally::new()));
    let (orders, ordered) = channel();
    let pacer = Pacer::new(script, Arc::clone(&tally));
    thread::spawn(move || pacer.run(&ordered));
    let listener = Arc::new(listener);
    for _ in 0..CONNECTIONS {
        let (listener, orders) = (Arc::clone(&listener), orders.clone());
        thread::Builder::new().stack_size(STACK_BYTES).spawn(move || accept(&listener, &orders))?;
    }
    println!("{}", listener.local_addr()?);
    for _ in io::stdin().lock().lines() {
        let tally = std::mem::replace(&mut *tally.lock().expect("the pacer lives"), Tally::new());
        let late = |q| tally.late_micros.value_at_quantile(q);
        println!("{} {} {}", tally.tokens, late(0.5), late(0.99));
    }
    Ok(())
}

fn accept(listener: &TcpListener, orders: &Sender<Answer>) {
    loop {
        // A client that goes away, even before it is met, is the client's business.
        if let Ok((stream, _)) = listener.accept() {
            let _ = read_requests(&Arc::new(stream), orders);
        }
    }
}

fn read_requests(stream: &Arc<TcpStream>, orders: &Sender<Answer>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let opening = script::opening();
    let mut buffer = vec![0; 64 << 10];
    let mut filled = 0;
    loop {
        let more = (&**stream).read(&mut buffer[filled..])?;
        if more == 0 {
            return Ok(());
        }
        filled += more;
        let Some(body) = whole_body(&buffer[..filled]) else { continue };
        let read_at = Instant::now();
        (&**stream).write_all(opening.as_bytes())?;
        let reply = Reply::to(body);
        filled = 0;
        let answer = Answer { stream: Arc::clone(stream), reply, read_at, first_written: None, written: 0 };
        orders.send(answer).map_err(io::Error::other)?;
    }
}

/// The body of a request that has come whole.
fn whole_body(request: &[u8]) -> Option<&[u8]> {
    let head = memchr::memmem::find(request, b"\r\n\r\n")?;
    let lines = str::from_utf8(&request[..head]).ok()?.lines();
    let length = lines
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse().ok())
        .unwrap_or(0);
    request.get(head + 4..head + 4 + length)
}

impl Pacer {
    fn new(script: Script, tally: Arc<Mutex<Tally>>) -> Self {
        let tokens = script::later_tokens();
        Self { script, tokens, answers: Vec::new(), free: Vec::new(), due: BinaryHeap::new(), tally }
    }

    fn run(mut self, ordered: &Receiver<Answer>) {
        loop {
            let now = Instant::now();
            let next = match self.due.peek() {
                Some(&Reverse((due, number))) if due <= now => {
                    self.due.pop();
                    self.step(number, due);
                    continue;
                }
                Some(Reverse((due, _))) => ordered.recv_timeout(*due - now),
                None => ordered.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match next {
                Ok(answer) => self.admit(answer),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn admit(&mut self, answer: Answer) {
        let due = answer.read_at + self.script.ttft;
        let number = self.free.pop().unwrap_or_else(|| {
            self.answers.push(None);
            self.answers.len() - 1
        });
        self.answers[number] = Some(answer);
        self.due.push(Reverse((due, number)));
    }

    /// Writes the token that is due, and what follows the last one.
    fn step(&mut self, number: usize, due: Instant) {
        let Some(answer) = &mut self.answers[number] else { return };
        let now = Instant::now();
        self.tally.lock().expect("nobody panics with it").note(now - due);
        let token = match answer.written {
            0 => answer.reply.first.as_bytes(),
            later => &self.tokens[later as usize % self.tokens.len()],
        };
        let first = *answer.first_written.get_or_insert(now);
        let mut sent = (&*answer.stream).write_all(token);
        answer.written += 1;
        if answer.written == self.script.tokens {
            let truth = Truth { ttft: first - answer.read_at, decode: now - first };
            let ending = script::ending(answer.reply.prompt_tokens, answer.written, truth);
            sent = sent.and_then(|()| (&*answer.stream).write_all(ending.as_bytes()));
        }
        if sent.is_err() || answer.written == self.script.tokens {
            self.answers[number] = None;
            self.free.push(number);
        } else {
            self.due.push(Reverse((due + self.script.itl, number)));
        }
    }
}

impl Tally {
    fn new() -> Self {
        let late_micros = Histogram::new_with_bounds(1, 60_000_000, 2).expect("the bounds are in order");
        Self { tokens: 0, late_micros }
    }

    fn note(&mut self, late: Duration) {
        self.tokens += 1;
        self.late_micros.saturating_record(late.as_micros() as u64);
    }
}
