//! A UDP relay that can be cut, as a cable is: nothing is told to anyone.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::net::UdpSocket;

pub struct Relay {
    address: SocketAddr,
    cut: Arc<AtomicBool>,
}

impl Relay {
    pub async fn start(to: SocketAddr) -> Self {
        let front = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
        let address = front.local_addr().unwrap();
        let cut = Arc::new(AtomicBool::new(false));
        tokio::spawn(forward(front, to, cut.clone()));
        Self { address, cut }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn cut(&self, cut: bool) {
        self.cut.store(cut, Ordering::SeqCst);
    }
}

async fn forward(front: Arc<UdpSocket>, to: SocketAddr, cut: Arc<AtomicBool>) {
    let mut flows: HashMap<SocketAddr, Arc<UdpSocket>> = HashMap::new();
    let mut buffer = vec![0; 65536];
    loop {
        let Ok((len, from)) = front.recv_from(&mut buffer).await else { continue };
        if cut.load(Ordering::SeqCst) {
            continue;
        }
        let back = match flows.get(&from) {
            Some(back) => back.clone(),
            None => {
                let back = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
                back.connect(to).await.unwrap();
                tokio::spawn(answer(front.clone(), back.clone(), from, cut.clone()));
                flows.insert(from, back.clone());
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
