//! One protobuf message as bytes: the few kinds of fields that metrics have.

#[derive(Debug, Default)]
pub(super) struct Message(Vec<u8>);

/// How a field's value is written.
#[derive(Debug, Clone, Copy)]
enum Wire {
    Varint = 0,
    Fixed64 = 1,
    Bytes = 2,
}

impl Message {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Its length, as it stands before a message in a stream.
    pub(super) fn length(&self) -> Self {
        let mut length = Self::default();
        length.varint(self.0.len() as u64);
        length
    }

    pub(super) fn number(&mut self, field: u32, value: u64) {
        self.key(field, Wire::Varint);
        self.varint(value);
    }

    /// `sint32` or `sint64`.
    pub(super) fn signed(&mut self, field: u32, value: i64) {
        self.number(field, zigzag(value));
    }

    pub(super) fn double(&mut self, field: u32, value: f64) {
        self.key(field, Wire::Fixed64);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn text(&mut self, field: u32, value: &str) {
        self.field(field, value.as_bytes());
    }

    pub(super) fn message(&mut self, field: u32, message: &Self) {
        self.field(field, &message.0);
    }

    /// Repeated `sint64`.
    pub(super) fn packed_signed(&mut self, field: u32, values: impl Iterator<Item = i64>) {
        let mut packed = Self::default();
        for value in values {
            packed.varint(zigzag(value));
        }
        self.message(field, &packed);
    }

    fn field(&mut self, field: u32, bytes: &[u8]) {
        self.key(field, Wire::Bytes);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn key(&mut self, field: u32, wire: Wire) {
        self.varint(u64::from(field) << 3 | wire as u64);
    }

    /// Seven bits a byte, the lowest first.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

/// Small numbers of either sign become small numbers.
fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_written_as_the_encoding_says() {
        let mut inner = Message::default();
        inner.number(1, 150);
        let mut message = Message::default();
        message.message(3, &inner);
        message.text(2, "hi");
        message.signed(5, -2);
        message.double(6, 1.0);
        message.packed_signed(13, [1, -1, 64].into_iter());
        let expected = [
            &[0x1a, 3, 0x08, 0x96, 0x01][..],
            &[0x12, 2, b'h', b'i'],
            &[0x28, 3],
            &[0x31, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f],
            &[0x6a, 4, 2, 1, 0x80, 0x01],
        ];
        assert_eq!(message.bytes(), expected.concat());
        assert_eq!(message.length().bytes(), [message.bytes().len() as u8]);
    }
}
