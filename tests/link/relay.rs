//! A UDP relay that can be cut, as a cable is: nothing is told to anyone.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::net::UdpSocket;

pub struct Relay {
    address: SocketAddr,
    to: Arc<Mutex<SocketAddr>>,
    cut: Arc<AtomicBool>,
}

impl Relay {
    pub async fn start(to: SocketAddr) -> Self {
        let front = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
        let address = front.local_addr().unwrap();
        let cut = Arc::new(AtomicBool::new(false));
        let to = Arc::new(Mutex::new(to));
        tokio::spawn(forward(front, to.clone(), cut.clone()));
        Self { address, to, cut }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends everything to another server from now on, also what belongs to old connections.
    pub fn lead_to(&self, to: SocketAddr) {
        *self.to.lock().unwrap() = to;
    }

    pub fn cut(&self, cut: bool) {
        self.cut.store(cut, Ordering::SeqCst);
    }
}

async fn forward(front: Arc<UdpSocket>, to: Arc<Mutex<SocketAddr>>, cut: Arc<AtomicBool>) {
    let mut flows: HashMap<(SocketAddr, SocketAddr), Arc<UdpSocket>> = HashMap::new();
    let mut buffer = vec![0; 65536];
    loop {
        let Ok((len, from)) = front.recv_from(&mut buffer).await else { continue };
        if cut.load(Ordering::SeqCst) {
            continue;
        }
        let to = *to.lock().unwrap();
        let back = match flows.get(&(from, to)) {
            Some(back) => back.clone(),
            None => {
                let back = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
                back.connect(to).await.unwrap();
                tokio::spawn(answer(front.clone(), back.clone(), from, cut.clone()));
                flows.insert((from, to), back.clone());
                back
            }
        };
        let _ = back.send(&buffer[..len]).await;
    }
}

async fn answer(front: Arc<UdpSocket>, back: Arc<UdpSocket>, to: SocketAddr, cut: Arc<AtomicBool>) {
    let mut buffer = vec![0; 65536];
    loop {
        let Ok(len) = back.recv(&mut buffer).await else { continue };
        if !cut.load(Ordering::SeqCst) {
            let _ = front.send_to(&buffer[..len], to).await;
        }
    }
}
