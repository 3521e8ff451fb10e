//go:build tools

// Package peers names the DNS server that tests/peers/build compiles.
package peers

import _ "github.com/coredns/coredns"
