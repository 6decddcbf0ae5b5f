//! Why a due time was not served.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skip {
    /// As many probes as allowed are already under way.
    InFlight,
    /// The tokens of the hour are spent.
    Budget,
    /// The server asked to be left alone, or refused the last probe.
    BackOff,
    /// The daemon is ending.
    Shutdown,
    /// The due time passed while this process did not run, or was behind with what it had measured.
    Late,
}

impl Skip {
    pub const ALL: [Self; 5] = [Self::InFlight, Self::Budget, Self::BackOff, Self::Shutdown, Self::Late];

    pub fn label(self) -> &'static str {
        match self {
            Self::InFlight => "in_flight",
            Self::Budget => "budget",
            Self::BackOff => "back_off",
            Self::Shutdown => "shutdown",
            Self::Late => "late",
        }
    }
}
