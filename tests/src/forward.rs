//! A port of this machine's loopback, shown on the loopback of a network namespace: how a coordinator
//! in a lab reaches the API server of the test. Whole streams, no look inside.

use std::fs::File;
use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Ends with the value; connections end with their peers.
#[derive(Debug)]
pub struct Forward {
    stop: Arc<AtomicBool>,
}

impl Forward {
    /// Shows `127.0.0.1:port` of this process in the namespace, at the same address.
    pub fn into(netns: &str, port: u16) -> Self {
        let listener = listen(netns, port).expect("a port in the namespace can be listened on");
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        std::thread::spawn(move || accept(&listener, port, &stopped));
        Self { stop }
    }
}

impl Drop for Forward {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// A socket belongs to the namespace in which it was made, whoever uses it: so a thread of its own
/// goes there, and only the socket comes back.
fn listen(netns: &str, port: u16) -> io::Result<TcpListener> {
    let path = format!("/run/netns/{netns}");
    let thread = std::thread::spawn(move || {
        let namespace = File::open(path)?;
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
        let listener = TcpListener::bind(("127.0.0.1", port))?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    thread.join().expect("the thread ends")
}

fn accept(listener: &TcpListener, port: u16, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((here, _)) => {
                std::thread::spawn(move || drop(join(here, port)));
            }
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

fn join(here: TcpStream, port: u16) -> io::Result<()> {
    here.set_nonblocking(false)?;
    let there = TcpStream::connect(("127.0.0.1", port))?;
    let (from, to) = (here.try_clone()?, there.try_clone()?);
    let back = std::thread::spawn(move || copy(&there, &here));
    copy(&from, &to);
    let _ = back.join();
    Ok(())
}

fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}
