//! Upper bounds of the histograms, in seconds unless said: fine where people set their limits, coarse
//! elsewhere, and always as far as the longest timeout that the configuration takes (an hour).

/// Whole requests and first tokens: a dozen bounds per decade from 100 ms to 10 s.
pub(super) const REQUEST: &[f64] = &[
    0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.12, 0.15, 0.18, 0.22, 0.27, 0.33, 0.4, 0.5,
    0.6, 0.7, 0.85, 1.0, 1.2, 1.5, 1.8, 2.2, 2.7, 3.3, 4.0, 5.0, 6.0, 7.0, 8.5, 10.0, 15.0, 20.0, 30.0, 45.0,
    60.0, 90.0, 120.0, 240.0, 600.0, 1200.0, 3600.0,
];

/// Single tokens: about eleven bounds per decade from 5 to 200 ms.
pub(super) const TOKEN: &[f64] = &[
    0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.0075, 0.009, 0.011, 0.0135, 0.0165, 0.02, 0.025, 0.03, 0.037,
    0.045, 0.055, 0.067, 0.08, 0.1, 0.12, 0.15, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0, 60.0, 600.0, 3600.0,
];

/// Names, handshakes and headers; some servers hold their headers back until the first token.
pub(super) const CONNECTION: &[f64] = &[
    0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0,
    10.0, 30.0, 120.0, 3600.0,
];

/// Tokens per second.
pub(super) const SPEED: &[f64] = &[
    1.0, 2.0, 5.0, 7.5, 10.0, 13.0, 16.0, 20.0, 25.0, 30.0, 37.0, 45.0, 55.0, 67.0, 80.0, 100.0, 120.0,
    150.0, 200.0, 300.0, 500.0, 1000.0, 2000.0, 5000.0,
];

/// The daemon's own lateness.
pub(super) const LAG: &[f64] =
    &[0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 60.0];
