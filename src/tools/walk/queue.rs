//! What the threads of a walk still have to do.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Jobs, taken newest first. A lock, because a thread without work must sleep until another finds some.
pub(super) struct Queue<J> {
    state: Mutex<State<J>>,
    changed: Condvar,
}

struct State<J> {
    jobs: Vec<J>,
    /// Threads at work, which may add jobs.
    busy: usize,
}

impl<J> Queue<J> {
    pub(super) fn new(first: J) -> Self {
        let state = State { jobs: vec![first], busy: 0 };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next job, with a token to hold while it is done. Waits while others may still add one;
    /// nothing once all is done.
    pub(super) fn next(&self) -> Option<(J, Busy<'_, J>)> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop() {
                state.busy += 1;
                return Some((job, Busy(self)));
            }
            if state.busy == 0 {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(super) fn add(&self, jobs: Vec<J>) {
        if !jobs.is_empty() {
            self.lock().jobs.extend(jobs);
            self.changed.notify_all();
        }
    }
}

/// A thread at work; dropped also when the work panics, or the others would wait for ever.
pub(super) struct Busy<'a, J>(&'a Queue<J>);

impl<J> Drop for Busy<'_, J> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.busy -= 1;
        if state.busy == 0 {
            self.0.changed.notify_all();
        }
    }
}
