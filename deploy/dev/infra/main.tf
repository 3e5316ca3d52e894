# One control plane and workers in a private network. Nothing in here speaks to the cluster: what belongs into it (Cilium,
# the registry) comes with the control plane's cloud-init, so that there is one state, which can be destroyed without a
# cluster that answers. Why: docs/design/decisions/0020-one-state-and-a-key-as-witness.md.

locals {
  labels = { "hcloud-reconciler/dev-cluster" = var.cluster_id }

  # An address each that is known before the server exists: k3s is configured with it.
  addresses = {
    control_plane = "10.0.0.2"
    workers       = [for index in range(var.workers) : "10.0.0.${10 + index}"]
  }

  k3s_version = "v1.36.3+k3s1"
  image       = "ubuntu-24.04"
}

resource "hcloud_network" "cluster" {
  name = var.name
  # Pods and Services are in it as well: outside of it every server would need routes of its own to the pods.
  ip_range = "10.0.0.0/8"
  labels   = local.labels
}

resource "hcloud_network_subnet" "servers" {
  network_id   = hcloud_network.cluster.id
  type         = "cloud"
  network_zone = var.network_zone
  ip_range     = "10.0.0.0/24"
}

# It guards the public addresses; the private network is open. Load balancers reach the servers there.
resource "hcloud_firewall" "servers" {
  name   = var.name
  labels = local.labels

  rule {
    description = "SSH"
    direction   = "in"
    protocol    = "tcp"
    port        = "22"
    source_ips  = var.admin_ranges
  }

  rule {
    description = "Kubernetes API"
    direction   = "in"
    protocol    = "tcp"
    port        = "6443"
    source_ips  = var.admin_ranges
  }

  rule {
    description = "ping"
    direction   = "in"
    protocol    = "icmp"
    source_ips  = var.admin_ranges
  }
}

resource "hcloud_placement_group" "servers" {
  name   = var.name
  type   = "spread"
  labels = local.labels
}

resource "hcloud_server" "control_plane" {
  name               = "${var.name}-control-plane"
  server_type        = var.server_type
  image              = local.image
  location           = var.location
  labels             = local.labels
  ssh_keys           = [var.ssh_key_id]
  firewall_ids       = [hcloud_firewall.servers.id]
  placement_group_id = hcloud_placement_group.servers.id

  user_data = templatefile("${path.module}/control-plane.yaml.tftpl", {
    name        = "${var.name}-control-plane"
    address     = local.addresses.control_plane
    k3s_token   = var.k3s_token
    k3s_version = local.k3s_version
    start_k3s   = filebase64("${path.module}/start-k3s.sh")
    cilium      = filebase64("${path.module}/cilium.yaml")
    registry    = filebase64("${path.module}/registry.yaml")
    registries  = filebase64("${path.module}/registries.yaml")
  })

  network {
    subnet_id = hcloud_network_subnet.servers.id
    ip        = local.addresses.control_plane
    alias_ips = [] # without it each apply attaches the server anew
  }

  lifecycle {
    ignore_changes = [ssh_keys] # it has an effect at the first start alone, and a change replaces the server
  }
}

resource "hcloud_server" "worker" {
  count = var.workers

  name               = "${var.name}-worker-${count.index + 1}"
  server_type        = var.server_type
  image              = local.image
  location           = var.location
  labels             = local.labels
  ssh_keys           = [var.ssh_key_id]
  firewall_ids       = [hcloud_firewall.servers.id]
  placement_group_id = hcloud_placement_group.servers.id

  user_data = templatefile("${path.module}/worker.yaml.tftpl", {
    name          = "${var.name}-worker-${count.index + 1}"
    address       = local.addresses.workers[count.index]
    control_plane = local.addresses.control_plane
    k3s_token     = var.k3s_token
    k3s_version   = local.k3s_version
    start_k3s     = filebase64("${path.module}/start-k3s.sh")
    registries    = filebase64("${path.module}/registries.yaml")
  })

  network {
    subnet_id = hcloud_network_subnet.servers.id
    ip        = local.addresses.workers[count.index]
    alias_ips = []
  }

  lifecycle {
    ignore_changes = [ssh_keys]
  }
}
