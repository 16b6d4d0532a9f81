//! How long a provider asks to wait, in all the places and spellings where it says so.

use std::sync::LazyLock;
use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use regex::Regex;

/// Longer waits than this are not believed.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// What the headers say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Waits {
    /// The time the provider asks for.
    pub(super) asked: Option<Duration>,
    /// When a limit that it reports is reset; only of use when that limit was hit.
    pub(super) reset: Option<Duration>,
}

/// The names behind `x-ratelimit-remaining` and `x-ratelimit-reset`.
const LIMITS: [&str; 7] = [
    "-requests",
    "-tokens",
    "-requests-minute",
    "-tokens-minute",
    "-requests-day",
    "-tokens-day",
    "",
];

pub(super) fn from_headers(header: &dyn Fn(&str) -> Option<String>, now: Timestamp) -> Waits {
    let now = header("date").and_then(|date| http_date(&date)).unwrap_or(now);
    let millis = header("retry-after-ms").and_then(|ms| ms.trim().parse::<f64>().ok());
    let asked = millis
        .and_then(|ms| duration(ms / 1000.0))
        .or_else(|| header("retry-after").and_then(|value| retry_after(&value, now)));
    Waits { asked, reset: reset(header, now) }
}

/// Seconds, or a date.
fn retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    spelled(value).or_else(|| http_date(value).map(|then| until(then, now)))
}

/// The reset of the limit that is used up; where none says so, the soonest.
fn reset(header: &dyn Fn(&str) -> Option<String>, now: Timestamp) -> Option<Duration> {
    let resets = LIMITS.iter().filter_map(|limit| {
        let reset = header(&format!("x-ratelimit-reset{limit}"))?;
        let left = header(&format!("x-ratelimit-remaining{limit}"));
        Some((left.is_some_and(|left| left.trim() == "0"), reset_time(&reset, now)?))
    });
    let all: Vec<(bool, Duration)> = resets.collect();
    let used_up = all.iter().filter(|(used_up, _)| *used_up).map(|(_, wait)| *wait).max();
    used_up.or_else(|| all.iter().map(|(_, wait)| *wait).min())
}

/// A duration, or the moment itself in seconds or milliseconds since 1970.
fn reset_time(value: &str, now: Timestamp) -> Option<Duration> {
    let moment = match value.trim().parse::<i64>() {
        Ok(millis) if millis > 1_000_000_000_000 => Timestamp::from_millisecond(millis).ok(),
        Ok(seconds) if seconds > 1_000_000_000 => Timestamp::from_second(seconds).ok(),
        Ok(_) | Err(_) => return spelled(value),
    };
    moment.map(|then| until(then, now))
}

/// `20`, `1.5`, `250ms`, `12s`, `1m2.5s`, `2h`, `1d`; a bare number is seconds.
pub(super) fn spelled(value: &str) -> Option<Duration> {
    let mut rest = value.trim();
    let mut seconds = 0.0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, tail) = rest.split_at_checked(digits)?;
        let letters = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at_checked(letters)?;
        seconds += number.parse::<f64>().ok()? * unit_seconds(unit)?;
        rest = tail.trim_start();
    }
    duration(seconds)
}

fn unit_seconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return None,
    })
}

/// `Please try again in 1m2.5s`, `retry after 20 seconds`.
pub(super) fn in_text(text: &str) -> Option<Duration> {
    static PHRASE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"(?i)(?:again in|retry in|retry after|wait)\s+((?:[0-9.]+(?:ms|[smhd])\s?)+|[0-9.]+ ?sec)",
        )
        .ok()
    });
    let found = PHRASE.as_ref()?.captures(text)?.get(1)?.as_str();
    spelled(found.trim_end_matches(|c: char| c == '.' || c == ' ').trim_end_matches(" sec"))
}

fn http_date(value: &str) -> Option<Timestamp> {
    static PARSER: DateTimeParser = DateTimeParser::new();
    PARSER.parse_timestamp(value.trim()).ok()
}

fn until(then: Timestamp, now: Timestamp) -> Duration {
    let wait = Duration::try_from(then.duration_since(now)).unwrap_or(Duration::ZERO);
    wait.min(LONGEST)
}

fn duration(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok().map(|wait| wait.min(LONGEST))
}
