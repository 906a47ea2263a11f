-- Connects to 127.0.0.1 for every host name. wrk sends the host name of the URL in the TLS handshake, and in `Host`.
function wrk.resolve(host, service)
  wrk.addrs = wrk.lookup("127.0.0.1", service)
end
