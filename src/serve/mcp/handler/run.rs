//! Work of requests, bounded in number and time.

use std::time::{Duration, Instant};

use rmcp::{ErrorData, RoleServer, service::RequestContext};

use super::Handler;
use crate::{
    app::App,
    domain::{Code, Error, Patience, Progress, Result},
    serve::mcp::{errors::error_data, link::Link, progress::reporter},
};

impl Handler {
    /// Runs a call: work that counts against its caller's pace.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        context: &RequestContext<RoleServer>,
        work: impl FnOnce(&App, &Link, &dyn Progress, Patience) -> Result<T> + Send + 'static,
    ) -> std::result::Result<T, ErrorData> {
        self.hub.pace.take(&self.link(context), Instant::now()).map_err(error_data)?;
        self.run_uncounted(context, work).await
    }

    /// Runs work on the blocking pool, bounded in number and time, ended when the caller goes. Work
    /// that cannot be ended counts until it is done.
    pub(super) async fn run_uncounted<T: Send + 'static>(
        &self,
        context: &RequestContext<RoleServer>,
        work: impl FnOnce(&App, &Link, &dyn Progress, Patience) -> Result<T> + Send + 'static,
    ) -> std::result::Result<T, ErrorData> {
        let limits = &self.hub.app.config.limits;
        let (link, app) = (self.link(context), self.hub.app.clone());
        let permit = self.hub.permit(&link.rights).await.map_err(error_data)?;
        let time = Duration::from_secs(limits.request_seconds);
        let patience = Patience::until(Instant::now() + time);
        let (progress, reporting) = reporter(context);
        let inner = patience.clone();
        let mut task = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work(&app, &link, &*progress, inner)
        });
        let outcome = tokio::select! {
            done = &mut task => done,
            () = context.ct.cancelled() => {
                patience.end();
                return Err(error_data(Error::new(Code::Cancelled, "the request was cancelled")));
            }
            // A little more than the deadline that the work itself checks, for work that cannot.
            () = tokio::time::sleep(time + Duration::from_millis(500)) => {
                patience.end();
                return Err(error_data(Error::limit(format!(
                    "the request took longer than `limits.request_seconds` ({}) allows",
                    limits.request_seconds
                ))));
            }
        };
        // What was reported goes out before the answer does.
        if let Some(reporting) = reporting {
            drop(reporting.await);
        }
        match outcome {
            Ok(result) => result.map_err(error_data),
            Err(panic) => Err(error_data(
                Error::internal("the request's task ended early").with_source(panic),
            )),
        }
    }
}
