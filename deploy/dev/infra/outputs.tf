output "network_id" {
  description = "ID of the network, for HCLOUD_NETWORK."
  value       = tostring(hcloud_network.cluster.id)
}

output "control_plane_address" {
  description = "Public IPv4 address of the control plane."
  value       = hcloud_server.control_plane.ipv4_address
}

output "servers" {
  description = "Names of all servers, which are those of the Nodes."
  value       = concat([hcloud_server.control_plane.name], hcloud_server.worker[*].name)
}
