//! When a failed request is sent again, and after how long. Pure; the waiting is the driver's.

use std::time::Duration;

use super::classify::ProviderError;

/// How patient the client is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryPolicy {
    /// Retries of one request at most.
    pub max_attempts: u32,
    /// A single wait at most; a provider that asks for a longer one is not waited for.
    pub max_wait: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { max_attempts: 5, max_wait: Duration::from_mins(1) }
    }
}

/// The wait before the first retry where the provider names none; doubles with each.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// What to do about a failed attempt.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Send the same bytes again after this wait.
    Wait(Duration),
    /// Report the error.
    GiveUp,
    /// Report the error: the provider asks for a wait that is too long.
    TooLong(Duration),
}

/// Decides; `attempt` counts the retries so far, `random` is the jitter.
pub fn next(error: &ProviderError, attempt: u32, policy: RetryPolicy, random: u64) -> Next {
    if !error.retryable() || attempt >= policy.max_attempts {
        return Next::GiveUp;
    }
    match error.retry_after {
        Some(wait) if wait > policy.max_wait => Next::TooLong(wait),
        // A little more than asked for: the provider's clock and ours differ.
        Some(wait) => Next::Wait(wait + Duration::from_millis(random % 100)),
        None => Next::Wait(backoff(attempt, random).min(policy.max_wait)),
    }
}

/// Doubles with each attempt; the upper half is random, so that clients do not come back together.
fn backoff(attempt: u32, random: u64) -> Duration {
    let full = FIRST_WAIT.saturating_mul(1 << attempt.min(16));
    let half = full / 2;
    let span = u64::try_from(half.as_millis()).unwrap_or(u64::MAX).max(1);
    half + Duration::from_millis(random % span)
}
