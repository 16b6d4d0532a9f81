//! The background jobs, as the user and the end of a session see them.

use super::Agent;
use crate::error::Error;
use crate::tools::shell::jobs;
use crate::update::Update;

impl Agent {
    /// `/jobs`: what runs in the background.
    pub fn list_jobs(&self) -> String {
        jobs::list(&self.jobs)
    }

    /// `/jobs stop NUMBER`: stops a job. Says what is being done.
    pub fn stop_job(&mut self, number: u32) -> Result<String, Error> {
        let found = self.jobs.find(number).filter(|job| job.is_running());
        let Some(job) = found else {
            return Err(Error::usage(format!("no job {number} is running"), "")
                .help("/jobs lists the jobs"));
        };
        job.stop_for_user();
        Ok(format!("stopping job {number}"))
    }

    /// Ends what still runs in the background, at the end of the program; waits at most a second.
    /// Says so if there was anything.
    pub async fn close(&mut self) -> Option<String> {
        ended(self.jobs.end().await)
    }

    /// Ends the jobs of a session that is left. The next session has none.
    pub(super) fn leave_jobs(&mut self) {
        if let Some(note) = ended(std::mem::take(&mut self.jobs).cancel()) {
            self.show(Update::Note(note));
        }
    }
}

fn ended(jobs: usize) -> Option<String> {
    match jobs {
        0 => None,
        1 => Some("1 background job ended with the session".to_owned()),
        more => Some(format!("{more} background jobs ended with the session")),
    }
}
