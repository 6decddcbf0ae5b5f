//! The name of the trace that a probe is part of, for whoever follows a request through other systems.

use std::fmt;

use super::ProbeId;

/// 16 bytes, not all zero: a W3C trace id. Written as 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId([u8; 16]);

impl TraceId {
    /// `None` for zeros, which the standard calls invalid.
    pub fn from_bytes(bytes: [u8; 16]) -> Option<Self> {
        (bytes != [0; 16]).then_some(Self(bytes))
    }

    pub fn bytes(self) -> [u8; 16] {
        self.0
    }

    /// The value of the header `traceparent`: version 00, and the flag that this trace is recorded. The probe's id is
    /// the id of the span.
    pub fn traceparent(self, probe: ProbeId) -> String {
        format!("00-{self}-{probe}-01")
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_has_the_form_that_the_standard_gives() {
        let bytes =
            [0x0a, 0xf7, 0x65, 0x19, 0x16, 0xcd, 0x43, 0xdd, 0x84, 0x48, 0xeb, 0x21, 0x1c, 0x80, 0x31, 0x9c];
        let trace = TraceId::from_bytes(bytes).unwrap();
        assert_eq!(
            trace.traceparent(ProbeId::from_number(0x00ad_6b71_6920_3331)),
            "00-0af7651916cd43dd8448eb211c80319c-00ad6b7169203331-01"
        );
    }

    #[test]
    fn zeros_are_no_trace() {
        assert_eq!(TraceId::from_bytes([0; 16]), None);
    }
}
