use proptest::prelude::*;

use super::*;

/// The events of a stream in pieces, as `name|data`.
fn events<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    let mut found = Vec::new();
    let mut on_event = |event: Event<'_>| {
        found.push(format!("{}|{}", event.name, event.data));
        Flow::More
    };
    let mut decoder = SseDecoder::default();
    for piece in pieces {
        assert_eq!(decoder.push(piece, &mut on_event), Ok(Flow::More));
    }
    assert_eq!(decoder.finish(&mut on_event), Ok(Flow::More));
    found
}

#[test]
fn framing() {
    let cases: &[(&[u8], &[&str])] = &[
        (b"", &[]),
        (b"data: a\n\ndata: b\n\n", &["|a", "|b"]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", &["|a", "|b"]),
        (b"data: a\r\rdata: b\r\r", &["|a", "|b"]),
        (b"data: a\r\n\rdata: b\n\r\n", &["|a", "|b"]),
        (b"data:a\n\n", &["|a"]),
        (b"data:  a\n\n", &["| a"]),
        (b"data: a\ndata:\ndata: b\n\n", &["|a\n\nb"]),
        (b"data\n\n", &["|"]),
        (b"\n\n\n", &[]),
        (b": comment\n\n:\n\ndata: a\n: inside\ndata: b\n\n", &["|a\nb"]),
        (b"event: error\ndata: a\n\ndata: b\n\n", &["error|a", "|b"]),
        (b"event: lost\n\ndata: b\n\n", &["|b"]),
        (b"id: 7\nretry: 3000\nunknown\ndatax: no\ndata: a\n\n", &["|a"]),
        (b"\xEF\xBB\xBFdata: a\n\n", &["|a"]),
        (b"\xEF\xBB\xBF\xEF\xBB\xBFdata: a\n\n", &[]),
        (b"data: a\n\n\xEF\xBB\xBFdata: b\n\n", &["|a"]),
        (b"data: a\n", &["|a"]),
        (b"data: a", &["|a"]),
        (b"data: a\r", &["|a"]),
        (b"{\"error\":1}\n\n", &["|{\"error\":1}"]),
        (b"data: \xE6\x97\xA5\n\n", &["|\u{65E5}"]),
        (b"data: \xE6\x97\n\n", &["|\u{FFFD}"]),
    ];
    for (stream, expected) in cases {
        assert_eq!(events([*stream]), *expected, "{stream:?}");
        assert_eq!(events(stream.chunks(1)), *expected, "by bytes: {stream:?}");
    }
}

#[test]
fn a_cr_at_the_end_of_a_piece_ends_the_line_at_once_and_once_only() {
    let mut seen = 0;
    let mut decoder = SseDecoder::default();
    for (piece, after) in [("data: a\r", 0), ("\n\r", 1), ("\ndata: b\r", 1), ("\r", 2)] {
        let pushed = decoder.push(piece.as_bytes(), &mut |_| {
            seen += 1;
            Flow::More
        });
        assert_eq!(pushed, Ok(Flow::More));
        assert_eq!(seen, after, "{piece:?}");
    }
}

#[test]
fn it_stops_where_it_is_told() {
    let mut seen = Vec::new();
    let flow = SseDecoder::default().push(b"data: a\n\ndata: b\n\n", &mut |event| {
        seen.push(event.data.to_owned());
        Flow::Done
    });
    assert_eq!((flow, seen), (Ok(Flow::Done), vec!["a".to_owned()]));
}

#[test]
fn long_events_are_refused_however_they_come() {
    let piece = vec![b'x'; MAX_EVENT / 4];
    let line = [b"data: ".as_slice(), &piece, b"\n"].concat();
    for piece in [piece, line] {
        let mut decoder = SseDecoder::default();
        let pushed: Vec<_> = (0..5).map(|_| decoder.push(&piece, &mut |_| Flow::More)).collect();
        assert_eq!(pushed.last(), Some(&Err(TooLong)));
        assert_eq!(pushed[..3], [Ok(Flow::More); 3]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn cuts_do_not_matter(
        lines in prop::collection::vec("(data: ?|event:|:|x|\u{65E5}|)[a-z\u{65E5}]{0,3}(\r\n|\n|\r)", 0..12),
        at in prop::collection::vec(any::<usize>(), 0..6),
    ) {
        let stream = lines.concat().into_bytes();
        let mut at: Vec<usize> = at.iter().map(|at| at % (stream.len() + 1)).collect();
        at.extend([0, stream.len()]);
        at.sort_unstable();
        let pieces = at.windows(2).map(|span| &stream[span[0]..span[1]]);
        prop_assert_eq!(events(pieces), events([stream.as_slice()]));
    }
}
