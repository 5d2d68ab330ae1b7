//! Accepting connections, with time limits on headers, and ending them within the drain limit.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{Router, body::Body};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::{Site, connections::Entry, janitor, router};
use crate::{
    app::App,
    domain::{Error, Result, error::Doing},
};

/// The most that headers may take, and the most of an answer that waits for a slow client.
const BUFFER: usize = 64 << 10;

/// A server that is bound to its address and not yet answering.
pub struct Server {
    listener: TcpListener,
    app: Arc<App>,
    /// The bound address.
    pub address: SocketAddr,
}

impl Server {
    /// Binds to an address; the result has the real port where the port was 0.
    pub fn listen(listen: SocketAddr) -> Result<(std::net::TcpListener, SocketAddr)> {
        let listener = std::net::TcpListener::bind(listen).map_err(|error| {
            Error::invalid_params(format!(
                "could not listen on `{listen}`: {error}; choose another address with `--listen`"
            ))
        })?;
        let address = listener.local_addr().doing("read the server's own address")?;
        Ok((listener, address))
    }

    /// Makes a server of a bound listener.
    pub fn on(listener: std::net::TcpListener, app: Arc<App>) -> Result<Self> {
        let what = "take the address over";
        let address = listener.local_addr().doing(what)?;
        listener.set_nonblocking(true).doing(what)?;
        let listener = TcpListener::from_std(listener).doing(what)?;
        app.serve_http();
        Ok(Self { listener, app, address })
    }

    /// Answers until `stop` resolves. Then requests under way may finish until `drain_seconds` have
    /// passed; what is left after that is cut off.
    pub async fn run(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<()> {
        let drain = Duration::from_secs(self.app.config.server.drain_seconds);
        let closing = CancellationToken::new();
        let site = Site::new(self.app, self.address, closing.clone());
        let router = router(site.clone());
        let janitor = tokio::spawn(janitor::run(site.clone()));
        let mut stop = std::pin::pin!(stop);
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = &mut stop => break,
            };
            match accepted {
                Ok((stream, from)) => accept(&site, &router, stream, from),
                Err(error) => {
                    // The client went away, or the system has no file handle left.
                    tracing::warn!(kind = %error.kind(), "could not accept a connection");
                    site.connections.make_room();
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        drop(self.listener);
        tracing::info!("shutting down: finishing what was accepted");
        // Streams never end by themselves; requests under way do.
        closing.cancel();
        let emptied = async {
            while site.connections.count() > 0 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        if tokio::time::timeout(drain, emptied).await.is_err() {
            tracing::warn!(
                seconds = drain.as_secs(),
                connections = site.connections.count(),
                "cut off connections that did not end in time"
            );
            site.connections.close_all();
        }
        janitor.abort();
        Ok(())
    }
}

fn accept(site: &Site, router: &Router, stream: TcpStream, from: SocketAddr) {
    let Some(entry) = site.connections.admit(from.ip()) else {
        tracing::warn!("refused a connection: `limits.connections` are open");
        return;
    };
    // Small answers leave at once. A socket that refuses this still works.
    drop(stream.set_nodelay(true));
    let header_time = Duration::from_secs(site.hub.app.config.limits.header_seconds);
    tokio::spawn(serve(stream, entry, router.clone(), header_time, site.closing.clone()));
}

/// Serves one connection until it ends, by itself or because it must.
async fn serve(
    stream: TcpStream,
    entry: Entry,
    router: Router,
    header_time: Duration,
    closing: CancellationToken,
) {
    let connection = entry.connection.clone();
    let service = service_fn(move |request: http::Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(connection.clone());
        router.clone().oneshot(request)
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(header_time).max_buf_size(BUFFER);
    let mut serving = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    let ending = &entry.connection.ending;
    tokio::select! {
        // A client that breaks off is no error of ours.
        _ = &mut serving => return,
        () = ending.cancelled() => return,
        () = closing.cancelled() => {}
    }
    serving.as_mut().graceful_shutdown();
    tokio::select! {
        _ = serving => {}
        () = ending.cancelled() => {}
    }
}
