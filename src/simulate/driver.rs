//! Plays the model in real time: one task that owns the engine.

use std::collections::HashMap;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use super::control::Control;
use super::model::{Engine, Next, Refusal, Request, RequestId, Step, Token};

/// Behind by more than this the engine drops the debt: the machine slept, and a burst would tell nothing.
const MOST_LAG: Duration = Duration::from_millis(500);

/// What the engine is told.
#[derive(Debug)]
pub enum Command {
    /// A new request.
    Submit {
        /// What.
        request: Request,
        /// When it came in.
        received: Instant,
        /// Where its events go.
        events: mpsc::UnboundedSender<Event>,
        /// Told at once whether it was taken on.
        taken: oneshot::Sender<Result<(), Refusal>>,
    },
    /// Its client is gone.
    Abort(RequestId),
    /// All open answers break off.
    Stop,
}

/// What happens to a request.
#[derive(Debug, Clone, Copy)]
pub enum Event {
    /// A token is due now.
    Token(Token),
    /// It was given up.
    GivenUp(Refusal, Duration),
}

/// The engine and who listens to it.
#[derive(Debug)]
pub struct Driver {
    engine: Engine,
    commands: mpsc::UnboundedReceiver<Command>,
    control: Control,
    /// The engine's time zero.
    epoch: Instant,
    listeners: HashMap<RequestId, mpsc::UnboundedSender<Event>>,
}

/// Whether to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    Continue,
    Stop,
}

impl Driver {
    /// A driver whose engine begins at `epoch`.
    pub fn new(
        engine: Engine,
        commands: mpsc::UnboundedReceiver<Command>,
        control: Control,
        epoch: Instant,
    ) -> Self {
        Self { engine, commands, control, epoch, listeners: HashMap::new() }
    }

    /// Runs until told to stop, or until nobody can submit any more.
    pub async fn run(mut self) {
        loop {
            self.engine.set_slowdown(self.control.slowdown());
            let flow = match self.engine.next_step() {
                Next::Idle => self.wait_for_command(None).await,
                Next::WaitUntil(until) => self.wait_for_command(Some(until)).await,
                Next::Step(step) => self.play(step).await,
            };
            if flow == Flow::Stop {
                return;
            }
        }
    }

    /// Nothing runs: any command may change that.
    async fn wait_for_command(&mut self, until: Option<Duration>) -> Flow {
        let due = async {
            match until {
                Some(until) => sleep_until(self.epoch + until).await,
                None => std::future::pending().await,
            }
        };
        let flow = tokio::select! {
            biased;
            command = self.commands.recv() => self.obey(command),
            () = due => Flow::Continue,
        };
        let now = Instant::now().saturating_duration_since(self.epoch);
        self.engine.advance(now);
        flow
    }

    /// Hands the tokens over at their times and returns when the step is over.
    async fn play(&mut self, step: Step) -> Flow {
        for given_up in &step.given_up {
            if let Some(listener) = self.listeners.remove(&given_up.id) {
                // A listener that is gone has told so by an abort of its own.
                let _ = listener.send(Event::GivenUp(given_up.why, given_up.at));
            }
        }
        let mut reached = Duration::ZERO;
        for token in step.tokens {
            if token.at > reached && self.reach(token.at).await == Flow::Stop {
                return Flow::Stop;
            }
            reached = token.at;
            if let Some(listener) = self.listeners.get(&token.id) {
                let _ = listener.send(Event::Token(token));
            }
            if token.last {
                self.listeners.remove(&token.id);
            }
        }
        let flow = self.reach(step.end).await;
        let now = Instant::now().saturating_duration_since(self.epoch);
        if now.saturating_sub(step.end) > MOST_LAG {
            self.engine.advance(now);
        }
        flow
    }

    /// Waits for an absolute time, so that lateness never adds up; takes commands meanwhile.
    async fn reach(&mut self, at: Duration) -> Flow {
        let due = self.epoch + at;
        loop {
            tokio::select! {
                biased;
                command = self.commands.recv() => {
                    if self.obey(command) == Flow::Stop {
                        return Flow::Stop;
                    }
                }
                () = sleep_until(due) => return Flow::Continue,
            }
        }
    }

    fn obey(&mut self, command: Option<Command>) -> Flow {
        match command {
            Some(Command::Submit { request, received, events, taken }) => {
                let id = request.id;
                let arrived = received.saturating_duration_since(self.epoch);
                let answer = self.engine.submit(request, arrived);
                if answer.is_ok() {
                    self.listeners.insert(id, events);
                }
                if taken.send(answer).is_err() {
                    self.forget(id);
                }
            }
            Some(Command::Abort(id)) => self.forget(id),
            Some(Command::Stop) | None => return Flow::Stop,
        }
        Flow::Continue
    }

    fn forget(&mut self, id: RequestId) {
        self.engine.abort(id);
        self.listeners.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Profile;
    use crate::simulate::model::Stall;

    struct Rig {
        commands: mpsc::UnboundedSender<Command>,
        epoch: Instant,
    }

    fn start() -> Rig {
        let (commands, inbox) = mpsc::unbounded_channel();
        let control = Control::new("1".to_owned(), Vec::new(), 1);
        let epoch = Instant::now();
        tokio::spawn(Driver::new(Engine::new(Profile::Default.engine()), inbox, control, epoch).run());
        Rig { commands, epoch }
    }

    async fn submit(rig: &Rig, id: u64, stall: Option<Stall>) -> mpsc::UnboundedReceiver<Event> {
        let (events, listener) = mpsc::unbounded_channel();
        let (taken, answer) = oneshot::channel();
        let request = Request {
            id: RequestId(id),
            prompt_tokens: 50,
            output_tokens: 300,
            max_tokens: 300,
            prefix: Vec::new(),
            stall,
            first_token_factor: 1.0,
        };
        let command = Command::Submit { request, received: Instant::now(), events, taken };
        rig.commands.send(command).expect("the driver runs");
        answer.await.expect("an answer").expect("taken on");
        listener
    }

    #[tokio::test(start_paused = true)]
    async fn tokens_come_when_the_model_says_and_lateness_does_not_add_up() {
        let rig = start();
        let mut listener = submit(&rig, 1, None).await;
        let mut count = 0;
        while let Some(Event::Token(token)) = listener.recv().await {
            count += 1;
            let late = Instant::now().saturating_duration_since(rig.epoch).saturating_sub(token.at);
            assert!(late <= Duration::from_millis(2), "token {count} is {late:?} late");
        }
        assert_eq!(count, 300);
    }

    #[tokio::test(start_paused = true)]
    async fn request_that_comes_while_another_is_stalled_is_served_at_once() {
        let rig = start();
        let stall = Some(Stall { after_tokens: 1, lasting: Duration::from_secs(3600) });
        let mut stalled = submit(&rig, 1, stall).await;
        stalled.recv().await.expect("a first token");
        let asked = Instant::now();
        let mut other = submit(&rig, 2, None).await;
        other.recv().await.expect("a first token");
        let waited = Instant::now().saturating_duration_since(asked);
        assert!(waited < Duration::from_secs(1), "{waited:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn stop_breaks_off_open_answers() {
        let rig = start();
        let mut listener = submit(&rig, 1, None).await;
        listener.recv().await.expect("a first token");
        rig.commands.send(Command::Stop).expect("the driver runs");
        while listener.recv().await.is_some() {}
        rig.commands.closed().await;
    }
}
