//! What lies between a coordinator and its API server, and has faults: a real proxy before the real
//! server, which can answer itself, be slow, and lose what was on its way back.
//!
//! HTTP/1.1 as it is: heads are read, bodies are passed on as they come, watches too.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use super::{ControlPlane, User};

/// What happens to a request.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The proxy answers with this code itself, as an API server does: reason, message, and how many
    /// seconds to stay away.
    Answer { code: u16, reason: &'static str, message: &'static str, retry_after: Option<u64> },
    /// It is passed on after this time, whether or not the caller still waits.
    Late(Duration),
    /// It is carried out, and the answer comes after this time.
    Slow(Duration),
    /// It is carried out, and the connection is cut before the answer.
    AnswerLost,
    /// A watch: this line comes first, and then the end.
    Watched(&'static str),
}

/// Which requests, how often, and what happens to them.
struct Rule {
    method: &'static str,
    /// A part of the path with its query.
    path: &'static str,
    left: usize,
    fault: Fault,
}

#[derive(Default)]
struct State {
    rules: Vec<Rule>,
    /// Ends all connections there are when it is cancelled.
    connections: CancellationToken,
    /// `METHOD path` of all that came, oldest first.
    seen: Vec<String>,
}

/// The proxy. It ends with the value.
pub struct Proxy {
    state: Arc<Mutex<State>>,
    address: SocketAddr,
    dir: tempfile::TempDir,
    runtime: Option<Runtime>,
}

type Problem = Box<dyn std::error::Error + Send + Sync>;
type Answer = Response<UnsyncBoxBody<Bytes, Problem>>;

impl Proxy {
    /// A proxy without faults before this API server.
    pub fn before(plane: &ControlPlane) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let dir = tempfile::tempdir().expect("a temporary directory");
        let state = Arc::<Mutex<State>>::default();
        let kubeconfig = plane.kubeconfig(User::Admin);
        let (told, shared) = (Arc::clone(&state), std::sync::mpsc::channel());
        runtime.spawn(async move {
            let client = client(&kubeconfig).await;
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
            let _ = shared.0.send(listener.local_addr().expect("it listens"));
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&told), client.clone()));
            }
        });
        let address = shared.1.recv().expect("the proxy listens");
        Self { state, address, dir, runtime: Some(runtime) }
    }

    /// A kubeconfig of this user whose server is the proxy.
    pub fn kubeconfig(&self, plane: &ControlPlane, user: User) -> PathBuf {
        let text = std::fs::read_to_string(plane.kubeconfig(user)).expect("a kubeconfig");
        let direct = format!("https://127.0.0.1:{}", plane.port);
        let text = text.replace(&direct, &format!("http://{}", self.address));
        let path = self.dir.path().join(format!("{user:?}.kubeconfig"));
        std::fs::write(&path, text).expect("a kubeconfig can be written");
        path
    }

    /// From now on the next `times` requests of this method whose path has `path` in it have a
    /// fault. Rules are looked at in the order in which they came.
    pub fn fault(&self, method: &'static str, path: &'static str, times: usize, fault: Fault) {
        self.lock().rules.push(Rule { method, path, left: times, fault });
    }

    /// How many faults have not happened yet.
    pub fn left(&self) -> usize {
        self.lock().rules.iter().map(|rule| rule.left).sum()
    }

    /// Cuts every connection that stands, watches too.
    pub fn cut(&self) {
        std::mem::take(&mut self.lock().connections).cancel();
    }

    /// No faults any more.
    pub fn heal(&self) {
        self.lock().rules.clear();
    }

    /// How many requests of this method with this in their path have come.
    pub fn count(&self, method: &str, path: &str) -> usize {
        let state = self.lock();
        state.seen.iter().filter(|line| line.starts_with(method) && line.contains(path)).count()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The way to the real server; who asks is told by the request's own token.
async fn client(kubeconfig: &std::path::Path) -> Client {
    let file = Kubeconfig::read_from(kubeconfig).expect("a kubeconfig");
    let options = KubeConfigOptions::default();
    let mut config =
        Config::from_custom_kubeconfig(file, &options).await.expect("a whole kubeconfig");
    config.auth_info = Default::default();
    config.read_timeout = None;
    Client::try_from(config).expect("a client")
}

async fn serve(stream: TcpStream, state: Arc<Mutex<State>>, client: Client) {
    let cut = state.lock().unwrap_or_else(PoisonError::into_inner).connections.clone();
    let answer = service_fn(move |request| handle(request, Arc::clone(&state), client.clone()));
    let io = TokioIo::new(stream);
    // A connection that breaks is one of the faults.
    let served = hyper::server::conn::http1::Builder::new().serve_connection(io, answer);
    tokio::select! {
        _ = served => {}
        () = cut.cancelled() => {}
    }
}

async fn handle(
    request: Request<Incoming>,
    state: Arc<Mutex<State>>,
    client: Client,
) -> Result<Answer, Problem> {
    let fault = {
        let line = format!("{} {}", request.method(), request.uri());
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let fault = state.rules.iter_mut().find_map(|rule| {
            let hit = rule.left > 0
                && request.method() == rule.method
                && request.uri().to_string().contains(rule.path);
            hit.then(|| {
                rule.left -= 1;
                rule.fault.clone()
            })
        });
        state.seen.push(line);
        fault
    };
    let passed = |wait: Duration| {
        // A task of its own: it is carried out although the caller goes away.
        tokio::spawn(async move {
            tokio::time::sleep(wait).await;
            pass_on(request, client).await
        })
    };
    match fault {
        None => passed(Duration::ZERO).await?,
        Some(Fault::Late(wait)) => passed(wait).await?,
        Some(Fault::Slow(wait)) => {
            let answer = passed(Duration::ZERO).await?;
            tokio::time::sleep(wait).await;
            answer
        }
        Some(Fault::AnswerLost) => {
            passed(Duration::ZERO).await??;
            Err("the connection is cut".into())
        }
        Some(Fault::Watched(line)) => Ok(Response::new(whole(format!("{line}\n")))),
        Some(Fault::Answer { code, reason, message, retry_after }) => {
            let body = json!({"kind": "Status", "apiVersion": "v1", "metadata": {},
                "status": "Failure", "code": code, "reason": reason, "message": message});
            let mut answer =
                Response::builder().status(code).header("content-type", "application/json");
            if let Some(seconds) = retry_after {
                answer = answer.header("retry-after", seconds);
            }
            Ok(answer.body(whole(body.to_string()))?)
        }
    }
}

fn whole(text: String) -> UnsyncBoxBody<Bytes, Problem> {
    Full::new(Bytes::from(text)).map_err(|never: Infallible| match never {}).boxed_unsync()
}

async fn pass_on(request: Request<Incoming>, client: Client) -> Result<Answer, Problem> {
    let (mut head, body) = request.into_parts();
    head.headers.remove("host");
    let body = Body::from(body.collect().await?.to_bytes());
    let (head, body) = client.send(Request::from_parts(head, body)).await?.into_parts();
    Ok(Response::from_parts(head, body.map_err(Problem::from).boxed_unsync()))
}
