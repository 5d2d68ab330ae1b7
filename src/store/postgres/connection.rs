//! One connection to the server, blocking outside. The only place below `serve` that knows tokio.
//!
//! A thread of its own, the driver, moves the bytes of all connections. A caller waits for it with
//! a time limit, so a server that stops answering holds nobody. A connection whose statement
//! exceeded the limit is broken: nobody knows what the server still does with it.

use std::{
    collections::HashMap,
    future::{Future, poll_fn},
    pin::pin,
    sync::{Arc, mpsc::Sender},
    task::{Context, Poll, Wake, Waker},
    thread::Thread,
    time::{Duration, Instant},
};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio_postgres::{AsyncMessage, Client, Config, Row, Statement, types::ToSql};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::fault::Fault;
use crate::domain::{Result, error::Doing};

/// Prepared statements that a connection keeps.
const MAX_STATEMENTS: usize = 256;
/// What a statement may take beyond the server's own limit before the connection is given up.
const GRACE: Duration = Duration::from_secs(1);

/// A value of a statement.
pub(super) type Parameter<'a> = &'a (dyn ToSql + Sync);

/// The thread that moves the bytes.
pub(super) struct Driver(Option<Runtime>);

impl Driver {
    pub(super) fn start() -> Result<Self> {
        Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(2)
            .thread_name("store")
            .enable_all()
            .build()
            .map(|runtime| Self(Some(runtime)))
            .doing("start the thread for the store's connections")
    }

    fn handle(&self) -> Result<&Handle, Fault> {
        let stopped = || Fault::Away("the connections are closed".to_owned());
        self.0.as_ref().map(Runtime::handle).ok_or_else(stopped)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // The last owner may be an async task, where waiting for the thread is forbidden.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// A session with the server.
pub(super) struct Connection {
    client: Client,
    statements: HashMap<String, Statement>,
    limit: Duration,
    broken: bool,
    /// A statement of the current transaction failed.
    failed: bool,
}

impl Connection {
    /// Connects to one host. `limit` is for each statement. What others call with NOTIFY goes to
    /// `news`.
    pub(super) fn open(
        driver: &Driver,
        config: Config,
        tls: MakeRustlsConnect,
        limit: Duration,
        connect_limit: Duration,
        news: Option<Sender<String>>,
    ) -> Result<Self, Fault> {
        let connecting = driver.handle()?.spawn(async move {
            let (client, mut connection) = config.connect(tls).await?;
            // Ends when the client is dropped or the server closes. A failure reaches the client
            // as the error of its statement.
            match news {
                None => drop(tokio::spawn(connection)),
                Some(news) => drop(tokio::spawn(async move {
                    let mut next = poll_fn(|context| connection.poll_message(context));
                    while let Some(Ok(message)) = (&mut next).await {
                        if let AsyncMessage::Notification(called) = message
                            && news.send(called.payload().to_owned()).is_err()
                        {
                            break;
                        }
                    }
                })),
            }
            Ok::<_, tokio_postgres::Error>(client)
        });
        match wait(connecting, connect_limit) {
            Some(Ok(client)) => Ok(Self {
                client: client?,
                statements: HashMap::new(),
                limit: limit + GRACE,
                broken: false,
                failed: false,
            }),
            Some(Err(_)) => Err(Fault::Away("the attempt to connect was given up".to_owned())),
            None => Err(Fault::TooSlow),
        }
    }

    /// The rows of a statement.
    pub(super) fn query(
        &mut self,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, Fault> {
        let statement = self.prepare(sql)?;
        let done = wait(self.client.query(&statement, parameters), self.limit);
        self.noted(done)
    }

    /// The row of a statement that has at most one.
    pub(super) fn query_opt(
        &mut self,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Option<Row>, Fault> {
        let statement = self.prepare(sql)?;
        let done = wait(self.client.query_opt(&statement, parameters), self.limit);
        self.noted(done)
    }

    /// The row of a statement that has exactly one.
    pub(super) fn query_one(
        &mut self,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Row, Fault> {
        let statement = self.prepare(sql)?;
        let done = wait(self.client.query_one(&statement, parameters), self.limit);
        self.noted(done)
    }

    /// Runs a statement and counts the rows that it changed.
    pub(super) fn execute(
        &mut self,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<u64, Fault> {
        let statement = self.prepare(sql)?;
        let done = wait(self.client.execute(&statement, parameters), self.limit);
        self.noted(done)
    }

    /// Runs statements without parameters, in one round trip.
    pub(super) fn batch(&mut self, sql: &str) -> Result<(), Fault> {
        let done = wait(self.client.batch_execute(sql), self.limit);
        self.noted(done)
    }

    /// Does `work` with a shorter limit for each statement.
    pub(super) fn within<T>(
        &mut self,
        limit: Duration,
        work: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let usual = self.limit;
        self.limit = limit.min(usual);
        let done = work(self);
        self.limit = usual;
        done
    }

    /// Whether the connection cannot be used again.
    pub(super) fn is_broken(&self) -> bool {
        self.broken || self.client.is_closed()
    }

    /// Gives the connection up: it is not pooled again.
    pub(super) fn give_up(&mut self) {
        self.broken = true;
    }

    /// Whether a statement failed since this was last asked.
    pub(super) fn take_failed(&mut self) -> bool {
        std::mem::take(&mut self.failed)
    }

    fn prepare(&mut self, sql: &str) -> Result<Statement, Fault> {
        if self.is_broken() {
            return Err(Fault::Away("the connection is broken".to_owned()));
        }
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let done = wait(self.client.prepare(sql), self.limit);
        let statement = self.noted(done)?;
        if self.statements.len() >= MAX_STATEMENTS {
            self.statements.clear();
        }
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    fn noted<T>(&mut self, done: Option<Result<T, tokio_postgres::Error>>) -> Result<T, Fault> {
        let done = match done {
            Some(done) => done.map_err(Fault::Server),
            None => Err(Fault::TooSlow),
        };
        if let Err(fault) = &done {
            self.failed = true;
            self.broken |= fault.breaks();
        }
        done
    }
}

/// Waits for a future on this thread; `None` when the limit is over.
fn wait<F: Future>(future: F, limit: Duration) -> Option<F::Output> {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let deadline = Instant::now() + limit;
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Some(output);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return None;
        }
        std::thread::park_timeout(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_ends_with_the_answer_or_the_limit() {
        let driver = Driver::start().unwrap();
        let handle = driver.handle().unwrap();
        let answer = handle.spawn(async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            7
        });
        assert_eq!(wait(answer, Duration::from_secs(10)).unwrap().unwrap(), 7);
        let started = Instant::now();
        assert!(wait(std::future::pending::<()>(), Duration::from_millis(20)).is_none());
        assert!(started.elapsed() >= Duration::from_millis(20));
    }

    #[test]
    fn a_driver_may_be_dropped_in_async_code() {
        let driver = Driver::start().unwrap();
        let runtime = Builder::new_current_thread().build().unwrap();
        runtime.block_on(async move { drop(driver) });
    }
}
