//! A new build beside the one that is searched.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use super::{
    build::Build,
    catch_up::LARGE_STEP,
    freshness::Stage,
    generation::{Builds, Generation},
    lease::Lease,
    state::{Index, lock},
};
use crate::domain::Result;

impl Index {
    /// Makes the terms anew beside the ones that are searched, and changes over when they are whole.
    pub fn rebuild(&self, report: &dyn Fn(Stage)) -> Result<()> {
        let (lease, name) = loop {
            let writing = lock(&self.writing);
            // The old build may be too damaged to be written, so its writer is not asked for.
            let lease = match writing.as_ref() {
                Some(build) => Some(Arc::clone(&build.lease)),
                None => Lease::try_take(&self.root.join("lease"))?.map(Arc::new),
            };
            if let Some(lease) = lease {
                self.rebuilding.store(true, Ordering::Release);
                break (lease, Builds(&self.root).fresh()?);
            }
            drop(writing);
            report(Stage::Waiting(self.holder()));
            self.wait_for_more(Duration::from_millis(50));
        };
        let result = self.rebuild_as(lease, &name, report);
        self.rebuilding.store(false, Ordering::Release);
        result
    }

    fn rebuild_as(&self, lease: Arc<Lease>, name: &str, report: &dyn Fn(Stage)) -> Result<()> {
        let mut build = Build::open(lease, Generation::open(&self.root, name)?)?;
        // A damaged build has nothing that can be kept.
        let intact = self.generation().damage().is_none();
        build.old = intact.then(|| self.view()).transpose()?;
        // The old build goes on following the log meanwhile: its lock is not held here.
        loop {
            let step = build.step(self.source.as_ref(), LARGE_STEP)?;
            if let Some((done, total)) = step.filled {
                report(Stage::Items(done, total));
            }
            if step.done {
                break;
            }
        }
        let mut writing = lock(&self.writing);
        while !build.step(self.source.as_ref(), LARGE_STEP)?.done {}
        build.old = None;
        let builds = Builds(&self.root);
        builds.choose(name)?;
        let old = writing.take();
        self.show(&build, None);
        drop(old);
        builds.sweep(name);
        *writing = Some(build);
        drop(writing);
        self.publish();
        Ok(())
    }
}
