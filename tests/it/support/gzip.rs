//! A gzip container of stored (uncompressed) blocks: all that a test of `Content-Encoding` needs.

/// Wraps bytes as a gzip stream.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let mut blocks = bytes.chunks(0xffff).peekable();
    if blocks.peek().is_none() {
        out.extend([1, 0, 0, 0xff, 0xff]);
    }
    while let Some(block) = blocks.next() {
        let length = u16::try_from(block.len()).expect("a chunk fits");
        out.push(u8::from(blocks.peek().is_none()));
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend(block);
    }
    out.extend(crc32(bytes).to_le_bytes());
    let size = u32::try_from(bytes.len()).expect("test bodies are small");
    out.extend(size.to_le_bytes());
    out
}

fn crc32(bytes: &[u8]) -> u32 {
    let fold = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 }
        })
    };
    !bytes.iter().fold(!0, fold)
}

#[test]
fn checksum_and_layout() {
    assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    let packed = gzip(b"hi");
    assert_eq!(packed.get(10..17), Some(&[1, 2, 0, 0xfd, 0xff, b'h', b'i'][..]));
    assert_eq!(packed.len(), 10 + 5 + 2 + 8);
}
