//! Servers that mean harm, over real sockets. Every attack ends in exactly one named outcome, within its
//! time, with bounded memory, and without a panic.

#[path = "hostile/bodies.rs"]
mod bodies;
#[path = "hostile/cuts.rs"]
mod cuts;
#[path = "hostile/floods.rs"]
mod floods;
#[path = "hostile/framing.rs"]
mod framing;
#[path = "hostile/heads.rs"]
mod heads;
#[path = "hostile/http2.rs"]
mod http2;
#[path = "hostile/server.rs"]
mod server;
mod support;
#[path = "hostile/victim.rs"]
mod victim;
