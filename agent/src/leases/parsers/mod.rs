//! One parser per DHCP server: bytes in, a table out. No I/O and no clock; bounded; never a panic.
